"""The choice of quotes, of the edition in force where a question has a date, and its reasons."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.answering.assessing.editions import asks_today, family, moment_of, superseded
from rag.answering.extractive import QUOTES, RUNNER_UP, QuoteSelection, say_the_same, select
from rag.answering.languages import pattern
from rag.answering.reading import PassageReader
from rag.answering.vocabulary import Vocabulary
from rag.lexical.references import Reference, reference_of
from rag.protocols import Embedder
from rag.types import Hit, Trace
from rag.types.percents import told_apart

_OVER_TIME = pattern("over_time")
"""Such a question is about several editions."""


@dataclass(frozen=True, slots=True)
class Dated:
    """The passages of the editions that are in force; ``reason`` names those that are not."""

    hits: tuple[Hit, ...]
    reason: str
    document: str
    """The edition that is in force."""


def dated(question: str, hits: Sequence[Hit], reader: PassageReader) -> Dated | None:
    """The passages that are in force when the question says; None where it makes no difference.

    A question without a date and without a word such as "currently" is answered by all editions,
    the newest first.
    """
    moment = moment_of(question)
    if not (moment or asks_today(question)) or _OVER_TIME.search(question):
        return None
    by_name = {hit.document: hit for hit in hits}
    left_out = superseded(
        {name: reader.edition_date(hit) for name, hit in by_name.items()},
        moment or reader.day,
        lambda one, other: not reader.are_of_occasions(by_name[one], by_name[other]),
    )
    kept = tuple(hit for hit in hits if hit.document not in left_out)
    if not left_out:
        return None
    used = next(hit.document for hit in kept if family(hit.document) == family(left_out[0]))
    return Dated(kept, edition_words(used, left_out, moment), used)


def edition_words(used: str, left_out: Sequence[str], moment: str = "") -> str:
    """Say which edition of a document is used; "" where it has no other."""
    others = [name for name in left_out if family(name) == family(used)]
    if not others:
        return ""
    preposition = "on" if moment.count("-") == 2 else "in"
    when = f" {preposition} {moment}" if moment else ""
    verb = "is" if len(others) == 1 else "are"
    return f"{used} is the edition in force{when}; {', '.join(others)} {verb} left out."


_OLD = "; the edition in force has other figures"


@dataclass(frozen=True, slots=True)
class QuoteFate:
    """``number`` is that of the quote in the answer, 0 for none; ``reason`` is why there is none.

    ``reason`` is "" for a passage that is quoted. ``quote`` has its words that are quoted first,
    and ``folded`` says that another quote stands as the answer.
    """

    number: int
    reason: str = ""
    quote: str = ""
    folded: bool = False


@dataclass(frozen=True, slots=True)
class ChosenQuotes:
    """The sentences of an answer of quotes, chosen from ``hits``.

    ``edition`` is the one in force where a question has a date.
    """

    hits: Sequence[Hit]
    selection: QuoteSelection
    edition: Dated | None = None


def choose_quotes(
    trace: Trace, embedder: Embedder, reader: PassageReader, words: Vocabulary
) -> ChosenQuotes:
    """Choose what an answer to the question of ``trace`` quotes of ``trace.context``.

    Raises ProviderError when a remote embedder fails.
    """
    edition = dated(trace.corrected, trace.context, reader)
    hits = edition.hits if edition else trace.context
    reference = reference_of(trace.corrected)
    if reference and not any(_is_part(hit, reference, reader) for hit in hits):
        parts = (hit for hit in trace.candidates if _is_part(hit, reference, reader))
        hits = (*hits, *itertools.islice(parts, 1))  # however far its words are from the question
    selection = select(trace.corrected, hits, embedder, reader, words)
    return ChosenQuotes(hits, selection, edition)


def _is_part(hit: Hit, reference: Reference, reader: PassageReader) -> bool:
    """Whether a passage has a statement of the part that a question asks for."""
    return any(reader.is_part(reference, hit, one) for one in reader.statements(hit))


def quote_fates(trace: Trace, choice: ChosenQuotes) -> dict[int, QuoteFate]:
    """Return what became of the passages of ``trace.context``, by their keys."""
    in_force = choice.edition.document if choice.edition else ""
    left_out = QuoteFate(0, f"of the editions, {in_force} is in force")
    return dict.fromkeys((hit.chunk.key for hit in trace.context), left_out) | {
        hit.chunk.key: _fate(n, choice.selection) for n, hit in enumerate(choice.hits, start=1)
    }


def _fate(n: int, selection: QuoteSelection) -> QuoteFate:
    """Return the fate of the ``n``-th passage: that of its best sentence."""
    if number := selection.numbers.get(n):
        chosen = next(one for one in selection.chosen if one.n == n)
        return QuoteFate(number, quote=chosen.statement.quote)
    return QuoteFate(0, next(_reasons(n, selection)))


def _reasons(n: int, selection: QuoteSelection) -> Iterator[str]:
    better = list[float]()
    for score, one in selection.scored:
        is_distinct = one in selection.distinct
        if one.n != n:
            better += [score] if is_distinct else []
            continue
        superseded = _OLD if one.in_force else ""
        least = RUNNER_UP * better[0] if better else 0.0
        if is_distinct:
            yield "gives way to what another edition says"
        elif len(better) >= QUOTES:
            yield f"{QUOTES} sentences score higher{superseded}"
        elif score < least:
            best, limit = told_apart(score, least, 2)
            yield f"its best sentence scores {best}, below {limit}{superseded}"
        else:
            twin = next(other for other in selection.distinct if say_the_same(one, other))
            number = selection.numbers.get(twin.n)
            yield f"says the same as {f'[{number}]' if number else 'a better sentence'}"
    if own := [one for one in selection.telling if one.n == n]:
        superseded = _OLD if max(own, key=lambda one: one.prior).in_force else ""
        yield f"by words and rank, sentences of other passages fit better{superseded}"
    if any(one.n == n for one in selection.read):
        yield "no sentence stands alone: each is cut off, asks, or repeats the question"
    yield "it has headings only"
