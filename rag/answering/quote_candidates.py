"""The statements of passages that an answer may quote, with what they share with the question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.assessing.codes import codes_in
from rag.answering.reading import PassageReader
from rag.answering.statements.rows import BETWEEN
from rag.answering.statements.sentences import ENDED, Statement
from rag.answering.support import Support, terms_of
from rag.answering.vocabulary import Terms, Vocabulary
from rag.answering.words import with_digits
from rag.types import Hit

_ASKS = re.compile(r"[?？][\"'”’»)*]*\Z")
"""The end of a question, as a list of questions and answers has them: it answers nothing."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A statement that an answer may quote; ``n`` is the place of its hit, from 1."""

    n: int
    hit: Hit
    statement: Statement
    words: Terms
    shared: float
    """Share of the question's words that it holds, weighted by rarity; 0 to 1."""
    named: float
    """Share of the words of a row's name that the question has; 0 for what is no row."""
    checked: bool
    """Whether it holds the rare words of the question."""
    coded: float = 0.0
    """Share of the codes of the question that stand in it or above it."""
    prior: float = 0.0
    """Its score without the cosine."""
    outdated: bool = False
    """Whether an edition at hand supersedes its document."""
    in_force: Candidate | None = None
    """A statement of the edition in force that has other figures on the same matter."""


def candidates_of(
    question: str, hits: Sequence[Hit], reader: PassageReader, words: Vocabulary
) -> list[Candidate]:
    """Return all statements of the passages, with what they share with a question."""
    question_terms = words.terms(with_digits(question))
    entries = [
        (n, hit, statement, terms_of(statement, words))
        for n, hit in enumerate(hits, start=1)
        for statement in reader.statements(hit)
    ]
    support = Support(question_terms, words, [terms for *_, terms in entries])
    contexts = [reader.context(hit, statement) for _, hit, statement, _ in entries]
    above = {context: words.terms(context) for context in set(contexts)}
    codes = codes_in(question)
    return [
        Candidate(
            *(n, hit, statement, terms),
            shared=support.share(terms, above[context]),
            named=max(
                (_named(question_terms, words.terms(name)) for name in _row_names(statement)),
                default=0.0,
            ),
            checked=support.is_checked(terms, above[context]),
            coded=_coded(codes, f"{statement.text} {context}"),
        )
        for (n, hit, statement, terms), context in zip(entries, contexts, strict=True)
    ]


def _row_names(statement: Statement) -> Iterator[str]:
    """Yield the first cell of a row; behind a code also the second, which names its thing."""
    if statement.name:
        yield statement.name
        cells = statement.text.split(BETWEEN)
        if len(cells) > 2 and codes_in(statement.name):
            yield cells[1].partition(": ")[2] or cells[1]


def _named(question_terms: Terms, name: Terms) -> float:
    return len(question_terms & name) / max(len(name), 1)


def whole_statements(
    question_terms: Terms, candidates: list[Candidate], reader: PassageReader
) -> list[Candidate]:
    """Return the candidates that are whole statements of their own; all where there are none."""
    new = [
        one for one in candidates if one.words - question_terms or ENDED.search(one.statement.text)
    ] or candidates
    new = [one for one in new if not _ASKS.search(one.statement.text)] or new
    return [one for one in new if not reader.is_cut(one.hit, one.statement)] or new


def _coded(codes: set[str], text: str) -> float:
    return len(codes & codes_in(text)) / len(codes) if codes else 0.0
