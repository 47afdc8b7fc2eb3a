"""Atoms into passages: as many as fit, cut at the best boundary within reach.

Or text is cut where its topic changes: between neighbouring sentences that are little alike. After
Kamradt, "5 Levels of Text Splitting" (2023): the cosine distances of neighbours are compared with a
percentile of all those of the document, so that how often it is cut does not depend on the
embedding model. Manual edits hold in every cut: excluded text, boundaries added and removed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rag.chunking.atoms import BLOCK, Atoms, Scale, read_atoms
from rag.chunking.characters import HEADING, PARAGRAPH, SENTENCE
from rag.types import Document, Floats, Heading, Integers, Page, Span, Table, Vectors

Embed = Callable[[Sequence[str]], Vectors]
"""Unit vectors of texts, shape (texts, dimension)."""

AT_ONCE = 256  # sentences
_LONGEST = 2000  # characters of a sentence that are looked at; a table is one of them
_CHARACTERS = Scale(BLOCK, None, fine=False)


def topics(document: Document, embed: Embed, percentile: float) -> Iterator[Span]:
    """Stretches of the text about one thing each, in order; they hold every character.

    A stretch ends where the distance of two neighbouring sentences is above the percentile, but not
    between a heading and its text. Tables are never cut. Every sentence is embedded once; what is
    kept of it is one number.
    """
    starts, announced = np.array([*_sentences(document)], np.int64).reshape(-1, 2).T
    bounds = [0, len(document.text)]
    if len(starts) > 1:
        distances = _distances(document.text, starts, embed)
        breaks = distances > np.percentile(distances, percentile)
        breaks[announced[1:] == 1] = False
        bounds[1:1] = starts[1:][breaks].tolist()
    yield from pairwise(bounds)


def _sentences(document: Document) -> Iterator[tuple[int, bool]]:
    """Yield the starts of sentences, and whether a heading precedes each; a table is a sentence."""
    first, text = True, document.text
    for starts, _, _, _, bits in read_atoms(
        text, 0, len(text), _CHARACTERS, headings=document.headings
    ):
        begins = bits & (SENTENCE | PARAGRAPH) != 0
        begins[0] |= first
        first = False
        after_heading = bits[begins] & HEADING != 0
        for start, after in zip(starts[begins].tolist(), after_heading.tolist(), strict=True):
            table = document.table_at(start)
            if table is None or start <= table.start:
                yield start, after


def _distances(text: str, starts: Integers, embed: Embed) -> Floats:
    """1 less the cosine of every sentence and the next, shape (sentences - 1,)."""
    places = list(pairwise([*starts.tolist(), len(text)]))
    distances, last = list[Floats](), None
    for first in range(0, len(places), AT_ONCE):
        part = places[first : first + AT_ONCE]
        sentences = [text[start : min(end, start + _LONGEST)].strip() for start, end in part]
        rows = embed(sentences).astype(np.float64)
        joined = rows if last is None else np.concatenate([last, rows])
        distances.append(1 - (joined[:-1] * joined[1:]).sum(axis=1))
        last = rows[-1:]
    return np.concatenate(distances)


_AFTER_HEADING = -1


@dataclass(frozen=True, slots=True)
class Policy:
    """A preference order of boundaries.

    ``ranks`` maps boundary bits (0 to 7) to a rank. A boundary that would separate a heading from
    its text has the lowest rank.

    An overlap begins at a boundary of at least rank ``overlap_from``. If there is none, it begins
    at any boundary, or there is no overlap if ``overlap_strict`` is set.
    """

    ranks: tuple[int, int, int, int, int, int, int, int]
    overlap_from: int = 0
    overlap_strict: bool = False


def cut(
    blocks: Iterator[Atoms], size: int, overlap: int, policy: Policy
) -> Iterator[tuple[int, int]]:
    """Spans of at most ``size`` that share at most ``overlap`` with their neighbours.

    Each span ends at the best-ranked boundary within reach of its start, the last one of that rank.
    Starts and ends strictly increase. Only an atom that alone exceeds ``size`` makes a larger span.
    """
    ranks = np.array([*policy.ranks, *[_AFTER_HEADING] * HEADING])
    atoms, more = np.empty((5, 0), np.int64), True
    first = fresh = 0  # where the span starts; the first atom that no span holds yet
    while True:
        while more and (first >= atoms.shape[1] or atoms[3, -1] - atoms[2, first] <= size):
            block = next(blocks, None)
            more = block is not None
            if block is not None:
                atoms = np.concatenate([atoms[:, first:], block], axis=1)
                first, fresh = 0, fresh - first
        if fresh >= atoms.shape[1]:
            return
        starts, ends, opens, closes, bits = atoms
        after = int(np.searchsorted(closes, opens[first] + size, side="right"))
        if after <= fresh and first < fresh:  # the overlap leaves no room for anything new
            first = fresh
            continue
        after = max(after, fresh + 1)
        if after < atoms.shape[1]:
            reach = ranks[bits[fresh + 1 : after + 1]]
            after -= int(reach[::-1].argmax())
        yield int(starts[first]), int(ends[after - 1])
        first, fresh = _next_start(atoms, first, after, overlap, ranks, policy), after


def _next_start(
    atoms: Atoms, first: int, after: int, overlap: int, ranks: Integers, policy: Policy
) -> int:
    """The first atom of the next span: ``after``, or earlier by at most ``overlap``."""
    low = int(np.searchsorted(atoms[2], atoms[3, after - 1] - overlap))
    low = max(low, first + 1)
    good = np.flatnonzero(ranks[atoms[4, low:after]] >= policy.overlap_from)
    if len(good):
        return low + int(good[0])
    return after if policy.overlap_strict else min(low, after)


Cut = Callable[[Document], Iterator[Span]]


def apply_edits(document: Document, cut: Cut) -> Iterator[Span]:
    """The spans that ``cut`` makes of a document, as its edits want them.

    No span holds anything that is excluded, or goes across a boundary that was set; text that is
    to stay together is in one span, which may be longer than the cut allows, unless it is excluded
    or parted by such a boundary. Starts and ends strictly increase where those of ``cut`` do.
    """
    if not document.edits:
        yield from cut(document)
        return
    joins = [(edit.start, edit.end) for edit in document.edits if edit.kind == "join"]
    for start, end in stretches(document):
        spans = [(a + start, b + start) for a, b in cut(_part(document, start, end))]
        for low, high in joins:
            spans = _joined(spans, document.text, max(low, start), min(high, end))
        yield from spans


def stretches(document: Document) -> Iterator[Span]:
    """Yield the spans of a document between excluded spans and added boundaries, in order."""
    length = len(document.text)
    out = sorted((edit.start, edit.end) for edit in document.edits if edit.kind == "exclude")
    marks = sorted({edit.start for edit in document.edits if edit.kind == "split"})
    start = 0
    for low, high in [*out, (length, length)]:
        if low > start:
            bounds = [start, *(mark for mark in marks if start < mark < low), low]
            yield from itertools.pairwise(bounds)
        start = max(start, high)


def added_words(document: Document, start: int, end: int) -> str:
    """The words that are indexed with a span and not shown, each once, in the text's order."""
    words = (
        edit.words
        for edit in document.edits
        if edit.kind == "words" and edit.start < end and start < edit.end
    )
    return " ".join(dict.fromkeys(words))


def _joined(spans: Sequence[Span], text: str, low: int, high: int) -> list[Span]:
    """Spans with those made one that part ``text[low:high]``, white space at its ends aside."""
    words = text[low:high]
    low, high = low + len(words) - len(words.lstrip()), low + len(words.rstrip())
    if low >= high or any(start <= low and high <= end for start, end in spans):
        return list(spans)
    parted = [place for place, (start, end) in enumerate(spans) if start < high and end > low]
    first, last = parted[0], parted[-1]
    return [*spans[:first], (spans[first][0], spans[last][1]), *spans[last + 1 :]]


def _part(document: Document, start: int, end: int) -> Document:
    """A stretch as a document of its own: what is in it, counted from its beginning."""

    def inside(low: int, high: int) -> Span:
        return max(low, start) - start, min(high, end) - start

    return replace(
        document,
        text=document.text[start:end],
        pages=tuple(
            Page(page.number, *inside(page.start, page.end), page.head)
            for page in document.pages
            if page.start < end and start < max(page.end, page.start + 1)
        ),
        headings=tuple(
            Heading(heading.start - start, heading.level, heading.title)
            for heading in document.headings
            if start <= heading.start < end
        ),
        tables=tuple(
            Table(*inside(table.start, table.end), table.labels, table.caption)
            for table in document.tables
            if table.start < end and start < table.end
        ),
        edits=(),
    )
