"""Sources that disagree: editions of one document that give different figures for the same."""

from __future__ import annotations

from collections.abc import Sequence

from rag.answering.assessing.editions import (
    EditionDate,
    are_editions,
    differ,
    likeness,
    on_one_matter,
)
from rag.answering.assessing.key_terms import KeyTerm, key_terms, words_in
from rag.answering.reading import PassageReader
from rag.answering.sentences import Statement
from rag.answering.support import terms_of
from rag.answering.vocabulary import Vocabulary
from rag.types import Citation, Edition


def disagreeing(
    citations: Sequence[Citation], reader: PassageReader, words: Vocabulary, question: str
) -> tuple[Edition, ...]:
    """The first citation and those of other editions that contradict it, the newest first.

    Empty where no quote of another edition gives other figures for the matter of the question: the
    same rare words of it are in both, and neither edition has the quote of the other one, too. The
    newest is in force, if the names of the documents or the dates that they state tell which one
    that is. Editions that apply only after the reader's day come last.
    """
    first = citations[0]
    rare = [term for term in key_terms(question, words) if term.indexed]
    rare = [term for term in rare if term.terms & words.rare(term.terms, ())]
    named = _borne_out(rare, first, reader, words)
    if any(term.restricts and term not in named for term in rare):
        return ()
    quote = reader.quoted(first)
    others = [
        citation
        for citation in citations[1:]
        if are_editions(first.hit.document, citation.hit.document)
        and differ(quote.text, reader.quoted(citation).text)
        and on_one_matter(terms_of(quote, words), terms_of(reader.quoted(citation), words))
        and not reader.repeats(citation.hit, first.quote)
        and not reader.repeats(first.hit, citation.quote)
        and _borne_out(rare, citation, reader, words) == named
        and not _agrees(citation, quote, reader, words)
    ]
    if not others:
        return ()
    dates = {citation.n: reader.edition_date(citation.hit) for citation in (first, *others)}
    ordered = sorted(
        [first, *others],
        key=lambda one: (not dates[one.n].is_later_than(reader.day), dates[one.n].order),
        reverse=True,
    )
    newest, next_newest = (dates[citation.n] for citation in ordered[:2])
    return tuple(
        Edition(
            citation.n,
            citation.hit.document,
            dates[citation.n].day,
            in_force=citation is ordered[0] and newest.prevails_over(next_newest, reader.day),
        )
        for citation in ordered
    )


def _agrees(citation: Citation, quote: Statement, reader: PassageReader, words: Vocabulary) -> bool:
    """Whether the statement of a cited passage that is most like a quote has the same figures."""
    terms = terms_of(quote, words)
    closest = max(
        reader.statements(citation.hit),
        key=lambda statement: (
            likeness(terms, terms_of(statement, words)),
            statement.quote == citation.quote,
        ),
        default=quote,
    )
    return not differ(quote.text, closest.text)


def _borne_out(
    wanted: Sequence[KeyTerm], citation: Citation, reader: PassageReader, words: Vocabulary
) -> list[KeyTerm]:
    """The terms that a quote, or what stands above it, has in some form."""
    quote = reader.quoted(citation)
    text = f"{quote.text} {quote.caption} {reader.context(citation.hit)}"
    terms, spoken = words.terms(text), words_in(text)
    return [term for term in wanted if term.borne_out(terms) == 1 or any(map(term.is_like, spoken))]


def conflict_words(editions: Sequence[Edition], day: str) -> str:
    """The disagreement in a sentence, and which edition is in force on a day."""
    names = " and ".join(_dated(edition, day) for edition in editions)
    force = next((edition.document for edition in editions if edition.in_force), "")
    later = any(_is_later(edition, day) for edition in editions)
    newest = f" {force} is {'in force today' if later else 'the newest'}." if force else ""
    return f"{names} give different figures.{newest}"


def _is_later(edition: Edition, day: str) -> bool:
    return EditionDate(edition.day).is_later_than(day)


def _dated(edition: Edition, day: str) -> str:
    if _is_later(edition, day):
        return f"{edition.document} (from {edition.day} on)"
    known = not edition.day or edition.day in edition.document
    return edition.document if known else f"{edition.document} ({edition.day})"
