"""Manual edits that hold in every cut: excluded text, boundaries added and removed."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rag.types import Document, Heading, Page, Span, Table

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
