"""The statements of passages that an answer may quote, with what they share with the question."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.asked_values import asked_value
from rag.answering.assessing.dates import restrictions
from rag.answering.assessing.key_terms import codes_in
from rag.answering.reading import PassageReader
from rag.answering.statements.rows import BETWEEN
from rag.answering.statements.sentences import ENDED, Statement
from rag.answering.vocabulary import Support, Terms, Vocabulary, terms_of
from rag.answering.words import with_digits
from rag.lexical.references import reference_of
from rag.types import Hit

ALL = 0.99
"""The share of a question's words that counts as all of them."""
_FIELD = re.compile(
    r"(?P<label>[^\W\d_][^:\n.!?;]{1,40}):\s(?:[^!?;:\n]|:(?=\S)){0,80}(?<![\s.,!?;:])\Z"
)
"""A line of a record: a label, and a value that is no sentence."""
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
    headed: bool = False
    """Whether the heading above it has all words of the question."""
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
    codes, asked = codes_in(question), asked_value(question)
    naming = question_terms | words.terms(asked.words) if asked else question_terms
    records = [
        terms | words.terms(_record(hit, statement, naming, reader, words))
        for _, hit, statement, terms in entries
    ]
    return [
        Candidate(
            *(n, hit, statement, terms),
            shared=support.share(record, above[context]),
            named=max(
                (_named(naming, words.terms(name)) for name in _row_names(statement)),
                default=0.0,
            ),
            checked=support.is_checked(record, above[context]),
            coded=len(codes & codes_in(f"{statement.text} {context}")) / max(len(codes), 1),
            headed=support.own_share(words.terms(reader.heading(hit, statement))) >= ALL,
        )
        for (n, hit, statement, terms), context, record in zip(
            entries, contexts, records, strict=True
        )
    ]


def _row_names(statement: Statement) -> Iterator[str]:
    """Yield the first cell of a row; behind a code also the second, which names its thing.

    The label of a field, as in "Total amount: 225.00 euros", is such a name.
    """
    if field := _FIELD.match(statement.text):
        yield field["label"]
    if statement.name:
        yield statement.name
        cells = statement.text.split(BETWEEN)
        if len(cells) > 2 and codes_in(statement.name):
            yield cells[1].partition(": ")[2] or cells[1]


def _record(
    hit: Hit,
    statement: Statement,
    question_terms: Terms,
    reader: PassageReader,
    words: Vocabulary,
) -> str:
    """Return the record of a field that the question names by its label; "" for others.

    It is the page or passage, or the paragraph where that has the label more than once.
    """
    field = _FIELD.match(statement.text)
    if field is None or _named(question_terms, words.terms(field["label"])) < 1:
        return ""
    text, label = hit.chunk.text, f"{field['label']}:"
    around = reader.page_text(hit, statement) or text
    if around.count(label) == 1:
        return around
    start = text.rfind("\n\n", 0, max(statement.start, 0)) + 1
    return text[start:].lstrip().partition("\n\n")[0]


def _named(question_terms: Terms, name: Terms) -> float:
    return len(question_terms & name) / max(len(name), 1)


def whole_statements(
    question: str, question_terms: Terms, candidates: list[Candidate], reader: PassageReader
) -> list[Candidate]:
    """Return the candidates that are whole statements of their own; all where there are none.

    Of fields with one label, those in the record that the question names are left, and where it
    asks for a numbered part, such as "§ 2", the statements of that part. What is about other days
    or figures than the question is left out beside what is about these.
    """
    new = [
        one for one in candidates if one.words - question_terms or ENDED.search(one.statement.text)
    ] or candidates
    new = [one for one in new if not _ASKS.search(one.statement.text)] or new
    best: dict[str, float] = {}
    for one in new:
        if one.named == 1 and (label := _label(one)):
            best[label] = max(best.get(label, 0.0), one.shared)
    new = [
        one
        for one in new
        if not (label := _label(one))
        or (one.shared >= best[label] if label in best else max(best.values(), default=0) < ALL)
    ]
    if reference := reference_of(question):
        new = [one for one in new if reader.is_part(reference, one.hit, one.statement)] or new
    for restriction in restrictions(question):
        met = [restriction.is_met(one.statement.text) for one in new]
        there = {one.n for one, is_met in zip(new, met, strict=True) if is_met}
        new = [
            one
            for one, is_met in zip(new, met, strict=True)
            if is_met is not False or one.n not in there
        ]
    return [one for one in new if not reader.is_cut(one.hit, one.statement)] or new


def _label(candidate: Candidate) -> str:
    """Return the label of a field; "" for what is none."""
    field = _FIELD.match(candidate.statement.text)
    return field["label"] if field else ""
