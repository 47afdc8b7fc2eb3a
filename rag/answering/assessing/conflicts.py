"""Sources that disagree: editions of one document that give different figures for the same."""

from __future__ import annotations

from collections.abc import Sequence

from rag.answering.assessing.editions import are_editions, differ, on_one_matter
from rag.answering.reading import PassageReader
from rag.answering.support import terms_of
from rag.answering.vocabulary import Vocabulary
from rag.types import Citation, Edition


def disagreeing(
    citations: Sequence[Citation], reader: PassageReader, words: Vocabulary
) -> tuple[Edition, ...]:
    """The first citation and those of other editions that contradict it, the newest first.

    Empty where no quote of another edition gives other figures for the same matter. The newest is
    in force, if the names of the documents or the dates that they state tell which one that is.
    """
    first = citations[0]
    quote = reader.quoted(first)
    others = [
        citation
        for citation in citations[1:]
        if are_editions(first.hit.document, citation.hit.document)
        and differ(quote.text, reader.quoted(citation).text)
        and on_one_matter(terms_of(quote, words), terms_of(reader.quoted(citation), words))
    ]
    if not others:
        return ()
    dates = {citation.n: reader.edition_date(citation.hit) for citation in (first, *others)}
    ordered = sorted([first, *others], key=lambda one: dates[one.n].order, reverse=True)
    newest, next_newest = (dates[citation.n] for citation in ordered[:2])
    return tuple(
        Edition(
            citation.n,
            citation.hit.document,
            dates[citation.n].day,
            in_force=citation is ordered[0] and newest.is_newer_than(next_newest),
        )
        for citation in ordered
    )


def conflict_words(editions: Sequence[Edition]) -> str:
    """The disagreement in one sentence."""
    names = " and ".join(_dated(edition) for edition in editions)
    force = next((edition.document for edition in editions if edition.in_force), "")
    newest = f" {force} is the newest." if force else ""
    return f"{names} give different figures.{newest}"


def _dated(edition: Edition) -> str:
    known = not edition.day or edition.day in edition.document
    return edition.document if known else f"{edition.document} ({edition.day})"
