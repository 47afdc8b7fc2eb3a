"""Lines that a document repeats on its pages: running heads and feet, which say nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from rag.answering.languages import alternatives
from rag.answering.words import DIGITS, LETTERS
from rag.types import Chunk, Document, Page, Span

EDGE = 4
"""Lines at the top and at the bottom of a page where such a line may stand."""
LEAST_SHARE = 0.4
"""Of the pages: left and right ones may differ, and the first often has none."""
LONGEST = 120
SEVERAL_WORDS = 4
"""Words of a line in which a page number may stand among them."""

_LINE = re.compile(r"[^\n]+")
_FOLIO = re.compile(
    rf"^[ \t]*(?:{alternatives('page')})[ \t]+\d+"
    rf"(?:[ \t]*(?:/|\||{alternatives('out_of')})[ \t]*\d+)?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_REST_OF_SENTENCE = re.compile(r"\s*[a-zß-ÿα-ωа-џ].*[.!?]\s*")
"""A line that goes on a sentence; a rule may be said twice, and end alike."""
_NUMBER = re.compile(r"(?<![\d.,])\d{1,6}(?![\d.,])")


def running_lines(document: Document) -> list[Span]:
    """Return the spans of the running headers and footers of a PDF, in order."""
    if document.media_type != "application/pdf" or len(document.pages) < 2:
        return []
    pages = [list(_edges(document.text, page)) for page in document.pages]
    counts = Counter(key for page in pages for key in {key for _, keys in page for key in keys})
    least = max(2, LEAST_SHARE * len(pages))
    return [span for page in pages for span, keys in page if any(counts[k] >= least for k in keys)]


def blank_running_heads(chunk: Chunk, running: Iterable[Span]) -> str:
    """The text of a passage with running lines and page numbers blank, all else in its place."""
    text = chunk.text
    inside = [
        (max(start - chunk.start, 0), min(end - chunk.start, len(text)))
        for start, end in running
        if start < chunk.end and end > chunk.start
    ]
    for start, end in [*inside, *(match.span() for match in _FOLIO.finditer(text))]:
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _edges(text: str, page: Page) -> Iterator[tuple[Span, set[str]]]:
    """The lines at the edges, each with what makes it the same as those of other pages.

    Only numbers of pages may differ: they stand alone, or grow with the pages in a line of several
    other words. "Total amount: 225.00" and "Week 4" say something.
    """
    matches = _LINE.finditer(text, page.start, page.end)
    lines = [match.span() for match in matches if match.group().strip()]
    for start, end in dict.fromkeys((*lines[:EDGE], *lines[-EDGE:])):
        if end - start > LONGEST or _REST_OF_SENTENCE.fullmatch(text, start, end):
            continue
        line = " ".join(text[start:end].split())
        keys = {line if LETTERS.search(line) else DIGITS.sub("0", line)}
        for number in _NUMBER.finditer(line) if len(line.split()) >= SEVERAL_WORDS else ():
            offset = int(number[0]) - page.number
            keys.add(f"{line[: number.start()]}{offset}#{line[number.end() :]}")
        yield (start, end), keys
