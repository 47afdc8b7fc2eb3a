"""Rows of tables that are about another thing than the words of a question together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from rag.answering.assessing.key_terms import KeyTerm
from rag.answering.languages import listed, pattern
from rag.answering.reading import PassageReader
from rag.answering.statements.sentences import Statement
from rag.answering.vocabulary import Terms, Vocabulary, terms_of
from rag.types import Hit

DEGREES = frozenset(listed("degrees"))
"""Words beside a thing that name no other thing: a "maximum load" is a load."""
_ASKED_VERB = pattern("auxiliaries")
_PAUSE = re.compile(r"[^\w\s'’-]")


def parted(
    reader: PassageReader,
    words: Vocabulary,
    hit: Hit,
    quote: Statement,
    question: str,
    wanted: Sequence[KeyTerm],
    gaps: Sequence[KeyTerm],
) -> tuple[KeyTerm, ...]:
    """Two words side by side in a question where one row is named by each of them.

    A "mountain e-bike" is neither a mountain bike nor an e-bike.
    """
    if quote.kind != "row" or not quote.name:
        return ()
    own = words.terms(quote.name)
    names = [
        words.terms(row.name)
        for row in reader.statements(hit)
        if row.kind == "row" and row.name and row.quote != quote.quote
    ]
    for pair in side_by_side(question, wanted):
        there = [term for term in pair if term.borne_out(own) == 1]
        elsewhere = [
            term
            for term in pair
            if term in gaps and any(term.borne_out(name) == 1 for name in names)
        ]
        if there and elsewhere:
            return pair
    return ()


def beside_unknown(
    words: Vocabulary,
    quote: Statement,
    question: str,
    wanted: Sequence[KeyTerm],
    gaps: Sequence[KeyTerm],
) -> tuple[KeyTerm, ...]:
    """A word of the quoted row, and one beside it in the question that no passage has.

    The row of a "ceramic crown" does not say what a metal crown costs. Function words may stand
    before the unknown one, as in a "course in sushi"; one that stands before them may be a
    verb. Running text has other words for the same thing more often than a table has.
    """
    if quote.kind != "row":
        return ()
    own = terms_of(quote, words)
    for one, next_one in pairwise(wanted):
        if one.kind in ("code", "figure") or next_one.kind in ("code", "figure"):
            continue  # they name their row by themselves
        joined = is_joined(question, one, next_one)
        if one.text.casefold() in DEGREES or (joined and _is_last_verb(question, next_one)):
            continue
        phrase = question[one.start : next_one.end]
        of_one = not _PAUSE.search(phrase) and words.terms(phrase) <= one.terms | next_one.terms
        unknown_first = one in gaps and not one.indexed and next_one.borne_out(own) == 1
        unknown_last = next_one in gaps and not next_one.indexed and one.borne_out(own) == 1
        if (joined and unknown_first) or (of_one and unknown_last):
            return one, next_one
    return ()


def apart(
    reader: PassageReader,
    words: Vocabulary,
    hit: Hit,
    quote: Statement,
    above: Terms,
    wanted: Sequence[KeyTerm],
) -> tuple[KeyTerm, ...]:
    """The names, codes and figures of a question that stand in different rows of a passage.

    Empty where one row has all of them. Running text may go on about one thing for sentences;
    a row is about what stands in it.
    """
    things = [term for term in wanted if term.kind != "word"]
    if quote.kind != "row" or len(things) < 2:
        return ()
    own = terms_of(quote, words)
    rows = [
        terms_of(row, words)
        for row in reader.statements(hit)
        if row.kind == "row" and row.quote != quote.quote
    ]
    there = [term for term in things if term.borne_out(own) == 1]
    elsewhere = [
        term
        for term in things
        if term.borne_out(own | above) < 1 and any(term.borne_out(row) == 1 for row in rows)
    ]
    return (*there, *elsewhere) if there and elsewhere else ()


def side_by_side(question: str, wanted: Sequence[KeyTerm]) -> Iterator[tuple[KeyTerm, KeyTerm]]:
    """Pairs of key terms with nothing between them in the question."""
    for pair in pairwise(wanted):
        if is_joined(question, *pair):
            yield pair


def _is_last_verb(question: str, term: KeyTerm) -> bool:
    """Whether a term ends a question that "does" or the like began: "until when does it run?"."""
    ends = not question[term.end :].strip(" ?.!")
    return ends and _ASKED_VERB.search(question, 0, term.start) is not None


def is_joined(question: str, one: KeyTerm, next_one: KeyTerm) -> bool:
    """Whether two key terms stand side by side in a question, with nothing between them."""
    return not question[one.end : next_one.start].replace("-", "").strip()
