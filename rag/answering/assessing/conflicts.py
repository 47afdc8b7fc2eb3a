"""Sources that disagree: documents that give different figures for the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rag.answering.assessing.editions import (
    EditionDate,
    counts,
    day_of,
    differ,
    likeness,
    on_one_matter,
)
from rag.answering.assessing.key_terms import KeyTerm, key_terms, words_in
from rag.answering.reading import PassageReader
from rag.answering.statements.sentences import Statement
from rag.answering.vocabulary import Vocabulary, terms_of
from rag.types import Citation, Edition, Hit

SAME = 0.6
"""Statements of editions that share this much of their words (Jaccard) say the same."""


def disagreeing(
    citations: Sequence[Citation], reader: PassageReader, words: Vocabulary, question: str
) -> tuple[Edition, ...]:
    """The first citation and those of other documents that contradict it, the newest first.

    Empty where no quote of another edition gives other figures for the matter of the question: it
    has the rare words of it that the first one has, and neither edition has the quote of the other
    one, too. A document that is no edition contradicts with a sentence that is nearly the same,
    where both have all key terms of the question themselves. The newest edition is in force, if the
    names of the documents or the dates that they state tell which one that is. Editions that apply
    only after the reader's day come last.
    """
    first = citations[0]
    rare = [term for term in key_terms(question, words) if term.indexed]
    rare = [term for term in rare if term.terms & words.rare(term.terms, ())]
    named = _borne_out(rare, first, reader, words)
    if any(term.restricts and term not in named for term in rare):
        return ()
    quote = reader.quoted(first)
    heading = reader.heading(first.hit, quote)
    # A figure of the question is what editions can disagree about: "Is it 75%?"
    named = [term for term in named if not _is_disputed(term, quote)]
    rare = [term for term in rare if not _is_disputed(term, quote)]
    others = [
        citation
        for citation in citations[1:]
        if differ(quote.text, reader.quoted(citation).text)
        and on_one_matter(terms_of(quote, words), terms_of(reader.quoted(citation), words))
        and (
            reader.are_editions(first.hit, citation.hit)
            or _says_otherwise(citation, first, reader, words, question)
        )
        and counts(question) & counts(quote.text) <= counts(reader.quoted(citation).text)
        and not _is_repeated(citation, first, reader)
        and not _is_repeated(first, citation, reader)
        and set(named) <= set(_borne_out(rare, citation, reader, words))
        and not _agrees(citation, quote, heading, reader, words)
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
            in_force=citation is ordered[0]
            and newest.prevails_over(next_newest, reader.day)
            and reader.are_one_document(citation.hit, ordered[1].hit),
        )
        for citation in ordered
    )


def _says_otherwise(
    one: Citation, other: Citation, reader: PassageReader, words: Vocabulary, question: str
) -> bool:
    """Whether sentences of two documents are nearly the same and have all words of a question.

    What stands above them does not count: sister products have the same sentences. Documents that
    are mostly the same, such as contracts of two persons, are on different things.
    """
    if one.hit.document == other.hit.document or reader.are_alike(one.hit, other.hit):
        return False
    quotes = [reader.quoted(citation) for citation in (one, other)]
    terms = [terms_of(quote, words) for quote in quotes]
    return (
        all(quote.kind != "row" for quote in quotes)
        and likeness(*terms) >= SAME
        and all(term.borne_out(own) == 1 for term in key_terms(question, words) for own in terms)
    )


def _is_disputed(term: KeyTerm, quote: Statement) -> bool:
    return term.kind == "figure" and not day_of(term.text) and term.number in quote.text


def _is_repeated(one: Citation, other: Citation, reader: PassageReader) -> bool:
    """Whether the document of a citation has the quote of another one, too."""
    heading = reader.heading(other.hit, reader.quoted(other))
    return reader.repeats(one.hit, other.quote, heading)


def outdated_words(
    citation: Citation, hits: Iterable[Hit], reader: PassageReader, words: Vocabulary
) -> str:
    """Say that a quote is of an edition that another one, which lacks it, supersedes; or "".

    An edition with a date in its name is taken for the older one of another without any.
    """
    quote, own = reader.quoted(citation), reader.edition_date(citation.hit)
    heading, name = reader.heading(citation.hit, quote), citation.hit.document
    passages: dict[str, list[Hit]] = {}
    for hit in hits:
        if reader.are_named_editions(hit, citation.hit):
            passages.setdefault(hit.document, []).append(hit)
    for document, own_hits in passages.items():
        first = own_hits[0]
        other = reader.edition_date(first)
        newer = other.prevails_over(own, reader.day)
        if not (newer or (own.named and not other.day)) or (
            reader.repeats(first, citation.quote, heading)
            or any(_has_alike(hit, quote, reader, words) for hit in own_hits)
        ):
            continue
        dated = f"the edition of {own.named}, {name}" if own.named else name
        kind = "the newer edition" if newer else "the edition without a date"
        where = f" under “{heading}”" if reader.repeats(first, citation.quote) else ""
        return f"The quote is from {dated}; {kind}, {document}, does not have these words{where}."
    return ""


def superseded_words(citations: Sequence[Citation], reader: PassageReader) -> str:
    """Name the citations of editions that the edition of the first one supersedes; or ""."""
    first = citations[0].hit
    old = [one for one in citations[1:] if reader.supersedes(first, one.hit)]
    numbers = " and ".join(f"[{one.n}]" for one in old)
    verb, edition = ("is", "an edition") if len(old) == 1 else ("are", "editions")
    return f"{numbers} {verb} from {edition} not in force any more." if old else ""


def _has_alike(hit: Hit, quote: Statement, reader: PassageReader, words: Vocabulary) -> bool:
    """Whether a passage says the same as a quote in other words, with the same figures."""
    terms = terms_of(quote, words)
    return any(
        likeness(terms, terms_of(statement, words)) >= SAME
        and not differ(quote.text, statement.text)
        for statement in reader.statements(hit)
    )


def _agrees(
    citation: Citation,
    quote: Statement,
    heading: str,
    reader: PassageReader,
    words: Vocabulary,
) -> bool:
    """Whether the statement of a cited passage that is most like a quote has the same figures.

    Statements under the ``heading`` of the quote count alone, where there are some.
    """
    terms = terms_of(quote, words)
    all_statements = reader.statements(citation.hit)
    beneath = [
        statement
        for statement in all_statements
        if heading and reader.heading(citation.hit, statement).casefold() == heading.casefold()
    ]
    closest = max(
        beneath or all_statements,
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
    text = f"{quote.text} {quote.caption} {reader.context(citation.hit, quote)}"
    terms, spoken = words.terms(text), words_in(text)
    return [term for term in wanted if term.borne_out(terms) == 1 or any(map(term.is_like, spoken))]


def conflict_words(editions: Sequence[Edition], day: str, *, apart: bool = False) -> str:
    """The disagreement in a sentence, and which edition is in force on a day.

    ``apart`` says that the documents are no editions of each other.
    """
    names = " and ".join(_dated(edition, day) for edition in editions)
    force = next((edition.document for edition in editions if edition.in_force), "")
    later = any(_is_later(edition, day) for edition in editions)
    newest = f" {force} is {'in force today' if later else 'the newest'}." if force else ""
    things = " They may be about different things." if apart else ""
    return f"{names} give different figures.{newest}{things}"


def _is_later(edition: Edition, day: str) -> bool:
    return EditionDate(edition.day).is_later_than(day)


def _dated(edition: Edition, day: str) -> str:
    if _is_later(edition, day):
        return f"{edition.document} (from {edition.day} on)"
    known = not edition.day or edition.day in edition.document
    return edition.document if known else f"{edition.document} ({edition.day})"
