"""The input and the output of a reader: a source file with its limits, and its content."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import TypeVar

from rag.errors import UnreadableDocument
from rag.readers.characters import normalise
from rag.readers.tables import Grid, caption
from rag.types import Heading, Omission, Page, Table


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on one file; whatever passes them raises UnreadableDocument instead of harm.

    ``max_bytes`` bounds the file, ``max_unpacked_bytes`` what an office file unpacks to,
    ``max_pages`` the pages of a PDF, ``max_characters`` the text of the document.
    ``max_unpacking`` bounds how many times its size an office file unpacks to, if that is more than
    20 MB: files that Office makes stay below 25 times.

    ``seconds_to_open`` may pass until the first page (or block of rows) is done,
    ``seconds_per_page`` between two of them, ``seconds`` altogether. These are seconds of a
    processor, as long as the reading process says so: a busy machine may take longer.
    ``memory_mb`` (MiB) bounds the address space of that process.
    """

    max_bytes: int = 200_000_000
    max_unpacked_bytes: int = 1_000_000_000
    max_pages: int = 5000
    max_characters: int = 50_000_000
    max_unpacking: int = 200
    seconds_to_open: float = 60.0
    seconds_per_page: float = 20.0
    seconds: float = 600.0
    memory_mb: int = 2048


T = TypeVar("T")
FRESH_COPY = "Open it in the program that made it, save a fresh copy, and add that."


def damaged(why: str, hint: str = FRESH_COPY) -> UnreadableDocument:
    """The error for a damaged file; ``why`` ends a sentence."""
    return UnreadableDocument(f"The file is damaged: {why}.", hint, reason="damaged")


def attempt(work: Callable[[], T], otherwise: T) -> T:
    """Return what ``work`` returns, or ``otherwise`` where it raises anything but MemoryError.

    Libraries raise any exception on hostile input. What is a bonus must not make a text unreadable.
    """
    try:
        return work()
    except MemoryError:
        raise
    except Exception:
        return otherwise


def silent(done: int, total: int) -> None:
    """Progress that nobody watches."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read. Readers call ``tick(done, total)`` per page or block of rows.

    ``tick`` reports progress and raises what should end the reading: Cancelled when the user
    stopped it, UnreadableDocument (``timed_out``) when the time is over. ``about`` is what else
    some readers must be told.
    """

    path: Path
    limits: Limits = field(default_factory=Limits)
    password: str | None = field(default=None, repr=False)
    tick: Callable[[int, int], None] = silent
    about: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Content:
    """Normalised text with its pages, headings and tables, all sorted by offset.

    ``read`` counts what the text has beside those, such as notes; ``left_out`` is what it has not.
    """

    text: str
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    tables: tuple[Table, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    left_out: tuple[Omission, ...] = ()


_BATCH = 10_000
_LONGEST_PLACE = 40  # characters
_OMISSION = re.compile("\ufdd0([a-z_]++) ?([^\ufdd0\ufdd1]*+)\ufdd1")


def omission_mark(kind: str, place: str = "") -> str:
    """A mark within markup where content was left out; its signs are no characters of Unicode."""
    return f"\ufdd0{kind} {place}\ufdd1"


class Composer:
    """A composer of blocks of text into one Content, which keeps count of the offsets."""

    def __init__(self) -> None:
        self._done: list[str] = []
        self._parts: list[str] = []
        self._length = 0
        self._pages: list[Page] = []
        self._page: int | None = None
        self._head = ""
        self._confidence: float | None = None
        self._label = ""
        self._headings: list[Heading] = []
        self._tables: list[Table] = []
        self._read: Counter[str] = Counter()
        self._left_out: dict[str, Omission] = {}

    def page(
        self, number: int, head: str = "", confidence: float | None = None, label: str = ""
    ) -> None:
        """Start page ``number`` (from 1, increasing), which repeats the text ``head``.

        ``confidence`` is set if the text of the page was recognised in a picture, ``label`` if
        another number is printed on it.
        """
        self._page, self._head = number, " ".join(normalise(head).split())
        self._confidence, self._label = confidence, label

    def block(self, text: str, separator: str = "\n\n") -> int | None:
        """Append a block; return its offset, or None if nothing but whitespace was in it."""
        clean = normalise(text).strip()
        if not clean:
            return None
        return self._append(clean, separator)

    def heading(self, level: int, title: str) -> None:
        """Append a block that is a heading."""
        start = self.block(title)
        if start is not None:
            self._headings.append(Heading(start, level, " ".join(normalise(title).split())))

    def table(self, grid: Grid, separator: str = "\n\n", title: str = "") -> None:
        """Append the rows of a table, under the lines above its header.

        ``title`` is its caption where those lines are not; the caller has appended it.
        """
        for text in grid.above:
            self.block(text, separator)
            separator = "\n"
        start = None
        for row in grid.lines:
            place = self._append(normalise(row), separator)
            start = place if start is None else start
            separator = "\n"
        if start is not None and grid.columns > 1:
            named = caption(grid.above) or title
            self._tables.append(Table(start, self._length, grid.labels, named))

    def count(self, kind: str, number: int = 1) -> None:
        """Count content that became text, by a kind that blocks and tables don't show."""
        self._read[kind] += number

    @property
    def omissions(self) -> int:
        """The number of parts that were left out so far."""
        return sum(part.count for part in self._left_out.values())

    def take_marks(self, text: str) -> str:
        """Leave out what the marks in a text say; return the text without them.

        Where there is no heading above, the place is the beginning of the text.
        """
        clean, *others = _OMISSION.split(text)[::3]
        for part in others:
            clean += part[clean.endswith(" ") and part.startswith(" ") :]
        beginning = "" if self._headings else shorten(clean, _LONGEST_PLACE, placeholder=" …")
        for kind, place in _OMISSION.findall(text):
            self.leave_out(kind, place or beginning)
        return clean

    def left_out(self, kind: str) -> int:
        """The number of parts of a kind that were left out so far."""
        return self._left_out[kind].count if kind in self._left_out else 0

    def leave_out(self, kind: str, place: str = "", number: int = 1) -> None:
        """Count content that does not become text.

        ``place`` defaults to the page at hand, or to the last heading.
        """
        if number:
            heading = self._headings[-1].title if self._headings else ""
            place = place or (f"page {self._page}" if self._page else heading)
            first = self._left_out.setdefault(kind, Omission(kind, 0, place, self._length))
            self._left_out[kind] = replace(first, count=first.count + number)

    def mark(self, start: int, level: int, title: str) -> None:
        """A heading over text that stands there already."""
        self._headings.append(Heading(start, level, title))

    def content(self, **metadata: str | None) -> Content:
        """All of it, with the metadata that is not empty."""
        cleaned = {key: normalise(value).strip() for key, value in metadata.items() if value}
        headings = tuple(sorted(self._headings, key=lambda heading: heading.start))
        filled = {key: value for key, value in cleaned.items() if value}
        text = "".join(self._done + self._parts)
        return Content(
            text,
            tuple(self._pages),
            headings,
            tuple(self._tables),
            filled,
            dict(+self._read),
            tuple(self._left_out.values()),
        )

    def _append(self, clean: str, separator: str) -> int:
        glue = separator if self._length else ""
        start = self._length + len(glue)
        self._parts += [glue, clean]
        self._length = start + len(clean)
        self._extend_page(start)
        if len(self._parts) > _BATCH:  # millions of short strings take several times their text
            self._done.append("".join(self._parts))
            self._parts.clear()
        return start

    def _extend_page(self, start: int) -> None:
        if self._page is None:
            return
        if self._pages and self._pages[-1].number == self._page:
            start = self._pages.pop().start
        about = self._head, self._confidence, self._label
        self._pages.append(Page(self._page, start, self._length, *about))
