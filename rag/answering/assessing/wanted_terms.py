"""The key terms that a quote has to have, by what is known from its document, row or entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rag.answering.assessing.editions import is_of_moment
from rag.answering.assessing.key_terms import KeyTerm, key_terms
from rag.answering.assessing.question_forms import bound_pattern
from rag.answering.assessing.ranges import asked_figures
from rag.answering.assessing.validity import date_in, dates_in
from rag.answering.statements.rows import BETWEEN
from rag.answering.statements.sentences import Statement
from rag.answering.vocabulary import Terms, Vocabulary
from rag.answering.words import in_digits
from rag.lexical.languages import likeliest

_BOUNDS = """
    limit maximum max most highest largest greatest longest minimum min least fewest
    lowest smallest shortest few little höchstens maximal höchste mindestens máximo máxima mínimo
    mínima
"""
_BOUND_WORDS = frozenset(_BOUNDS.split())
BESIDE_CODE = 0.25
"""What a word counts beside a code whose entry is quoted."""


def wanted_terms(
    question: str, document: str, quote: Statement, words: Vocabulary, headings: str = ""
) -> tuple[KeyTerm, ...]:
    """The key terms of a question that a quote from a document has to have, in order.

    ``headings`` are those that the quote stands under.
    """
    wanted = _without_date(key_terms(question, words), question, document, quote.text)
    if quote.kind in ("row", "item"):
        wanted = _without_ranges(wanted, question, quote.text)
    for heading in filter(None, headings.split(" > ")):
        wanted = _without_ranges(wanted, question, heading)
    bound = bound_pattern(question)
    if bound and bound.search(quote.text):
        wanted = _without_bound(wanted)
    return _by_code(wanted, words.terms(quote.text.partition(BETWEEN)[0]))


def _without_bound(wanted: tuple[KeyTerm, ...]) -> tuple[KeyTerm, ...]:
    """The key terms without "limit" and the like: the quote sets one in some of many words."""
    rest = [term for term in wanted if term.text.casefold() not in _BOUND_WORDS]
    return _sharing_all(rest) if rest else wanted


def _without_ranges(wanted: tuple[KeyTerm, ...], question: str, row: str) -> tuple[KeyTerm, ...]:
    """The key terms without the figures that a range of the row includes.

    Amounts in digits only where no passage has them: another row may be theirs.
    """
    figures = [figure for figure in asked_figures(question) if figure.is_in_range(row)]
    inside = {figure.text for figure in figures}
    counting = {figure.text for figure in figures if figure.unit[:1].isalpha()}
    code, _ = likeliest(question)
    rest = [
        term
        for term in wanted
        if (term.indexed and term.number.isdecimal() and term.number not in counting)
        or in_digits(term.number, code) not in inside
    ]
    return _sharing_all(rest) if 0 < len(rest) < len(wanted) else wanted


def _by_code(wanted: Sequence[KeyTerm], entry: Terms) -> tuple[KeyTerm, ...]:
    """The key terms with less weight on words where the quote is the entry of the very code.

    "Error" is how a question about CV-118 puts it, not what the row has to say.
    """
    codes = [term for term in wanted if term.kind == "code"]
    if not codes or any(term.borne_out(entry) < 1 for term in codes):
        return tuple(wanted)
    weights = [term.share * (1.0 if term.kind == "code" else BESIDE_CODE) for term in wanted]
    total = sum(weights)
    return tuple(
        replace(term, share=weight / total) for term, weight in zip(wanted, weights, strict=True)
    )


def _without_date(
    wanted: Sequence[KeyTerm], question: str, document: str, quote: str
) -> tuple[KeyTerm, ...]:
    """The key terms without the date of a question, where a quote or its document has that date.

    The minutes of a meeting are named by its day; what was said there is still to be shown. A quote
    may write the date in another form.
    """
    day, start, end = date_in(question)
    rest = [term for term in wanted if not start <= term.start < end]
    quoted = day.count("-") == 2 and any(day == other for other, *_ in dates_in(quote))
    if not rest or not (quoted or is_of_moment(document, day)):
        return tuple(wanted)
    return _sharing_all(rest)


def _sharing_all(terms: Sequence[KeyTerm]) -> tuple[KeyTerm, ...]:
    """Some of the key terms of a question with the weight of all."""
    total = sum(term.weight for term in terms) or 1.0
    return tuple(replace(term, share=term.weight / total) for term in terms)
