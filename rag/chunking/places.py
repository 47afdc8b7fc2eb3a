"""The place of a passage: the page and the heading that contain most of it."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rag.chunking.atoms import closing_headings
from rag.types import Document, Heading, Page

_BANDS = ((90.0, "hardly a word wrong"), (75.0, "some words wrong"))  # by least confidence
_DOUBTFUL = "many words wrong"
_MARKS = 4  # characters beside the marks of the level: spaces and line ends


@dataclass(frozen=True, slots=True)
class Place:
    """``page`` counts from 1, None without pages; ``heading`` is ``"Chapter > Section"``.

    ``recognised`` says in words that the text was recognised in a picture and how surely, "" where
    it is the page's own. ``label`` is the number printed on the page, where that is another one.
    """

    page: int | None
    heading: str
    recognised: str = ""
    label: str = ""


def place_of(document: Document, start: int, end: int) -> Place:
    """The place of ``document.text[start:end]``.

    A passage often begins in the last line of a section or page, or in the running head of one.
    A heading without text of its own has no part of a passage, unless it is all of it.
    """
    stop = max(end, start + 1)
    shares = {
        page.number: min(end, page.end) - max(start, page.start)
        for page in _from(document.pages, start, stop)
        if page.end > start
    }
    number = max(shares, key=lambda number: shares[number], default=document.page_at(start))
    page = next((candidate for candidate in document.pages if candidate.number == number), None)
    heading = _heading(document, start, end)
    if page is None:
        return Place(number, heading)
    return Place(number, heading, recognised(page.confidence), page.label)


def recognised(confidence: float | None) -> str:
    """Return a note that words were recognised in a picture, by bands of confidence.

    The note is "" for the page's own words.
    """
    if confidence is None:
        return ""
    band = next((words for least, words in _BANDS if confidence >= least), _DOUBTFUL)
    return f"recognised from the picture, {band}"


def _heading(document: Document, start: int, end: int) -> str:
    inside = _from(document.headings, start, end)
    inner = [heading.start for heading in inside if heading.start > start]
    shares = dict[str, int]()
    for low, high in itertools.pairwise([start, *inner, end]):
        heading = document.heading_at(low)
        bare = _is_bare(document, inside, low, high)
        shares[heading] = shares.get(heading, 0) + (0 if bare else high - low)
    return max(shares, key=lambda heading: shares[heading])


def _is_bare(document: Document, headings: Sequence[Heading], low: int, high: int) -> bool:
    """Whether the stretch is a heading alone.

    An outline has no text to look at: there, the length of the title with its marks decides.
    """
    if document.text:
        return closing_headings(document.text, headings, low, high) == low
    heading = next((heading for heading in headings if heading.start == low), None)
    return heading is not None and high - low <= len(heading.title) + heading.level + _MARKS


def _from(marks: Sequence[Page] | Sequence[Heading], start: int, end: int) -> Sequence[Any]:
    """Return the marks before ``end``, from the last one at ``start`` or before."""
    low = bisect.bisect_right(marks, start, key=_start)
    return marks[max(low - 1, 0) : bisect.bisect_left(marks, end, key=_start)]


def _start(mark: Page | Heading) -> int:
    return mark.start
