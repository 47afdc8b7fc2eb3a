"""Documents and their passages."""

from __future__ import annotations

import bisect
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

_EXTENSION = re.compile(r"(?<!/)\.[A-Za-z]\w{0,7}\Z")
_BOOKS = (".xlsx", ".xlsm", ".ods")
_TRANSCRIPTS = (".vtt", ".srt")
_HOST = re.compile(r"\w+://[^/]*")


@dataclass(frozen=True, slots=True)
class Page:
    """One page (or slide, or sheet) of a document: ``text[start:end]``; numbers count from 1.

    ``head`` is what the page repeats of others at its top and bottom, which the text leaves out.
    ``confidence`` (0 to 100) is how sure the reader is of words that it recognised in a picture of
    the page; None where they are the page's own. ``label`` is the number that is printed on the
    page where that is another one, such as "iv"; "" where it is not known to be.
    """

    number: int
    start: int
    end: int
    head: str = ""
    confidence: float | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that is in force from ``start`` on; ``level`` 1 is the topmost."""

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Table:
    """A table within a document: ``text[start:end]``, one row a line, cells parted by tabs.

    ``labels`` name its columns, one each ("" where a column has none); none where nothing names
    them. ``caption`` is its title. Rows that only hold the labels are part of the span.
    """

    start: int
    end: int
    labels: tuple[str, ...] = ()
    caption: str = ""

    def header_rows(self, rows: Sequence[str]) -> int:
        """Return the number of leading rows that contain only words of the table's labels."""
        for count, row in enumerate(rows):
            cells = row.split("\t")
            pairs = zip(cells, self.labels, strict=False)
            if len(cells) > len(self.labels) or not all(
                not cell or f" {cell} " in f" {label} " for cell, label in pairs
            ):
                return count
        return len(rows)


@dataclass(frozen=True, slots=True)
class Omission:
    """Content of one ``kind``, such as ``form_field``, that a reader left out of the text.

    ``first`` names the place of the first one, such as "page 2"; "" where the format has no places.
    ``start`` is the offset in the text that comes after it.
    """

    kind: str
    count: int
    first: str = ""
    start: int = 0

    @property
    def words(self) -> str:
        """The omission as a person says it, such as "3 form fields, the first on page 2"."""
        noun = self.kind.replace("_", " ")
        number = f"{self.count:,} {noun}{'' if self.count == 1 else 's'}"
        if not self.first:
            return number
        return f"{number} ({self.first})" if self.count == 1 else f"{number} (first: {self.first})"


@dataclass(frozen=True, slots=True)
class Receipt:
    """The account of a reading: what became text, and what did not.

    ``read`` has numbers by kind (paragraphs, headings, tables, rows, pages ...) and the encoding
    and language of the text; ``encoding_guessed`` is 1 where nothing in the file states it.
    """

    read: Mapping[str, int | str] = field(default_factory=dict)
    left_out: tuple[Omission, ...] = ()

    @property
    def words(self) -> str:
        """The omissions in words; "" if nothing was left out."""
        return "; ".join(omission.words for omission in self.left_out)


EditKind = Literal["exclude", "split", "join", "words"]


@dataclass(frozen=True, slots=True)
class PassageEdit:
    """A user's edit of ``text[start:end]``, which applies to every chunker.

    ``exclude`` removes the span from every passage. ``split`` begins a passage at ``start``.
    ``join`` keeps the span in one passage. ``words`` are indexed with the passages that overlap the
    span, but not shown.
    """

    kind: EditKind
    start: int
    end: int
    words: str = ""


@dataclass(frozen=True)
class Document:
    """A source file as normalised text. ``id`` is the SHA-256 (hex) of the source bytes.

    ``pages``, ``headings`` and ``tables`` are sorted by ``start``; tables do not overlap. Text
    without pages has an empty ``pages``. ``reader_version`` is that of the reader that made the
    text, 0 from before readers had versions. ``edits`` are decisions of people about passages.
    ``receipt`` is None for a text from before readers gave one.
    """

    id: str
    name: str
    source: str
    media_type: str
    text: str
    pages: tuple[Page, ...] = ()
    headings: tuple[Heading, ...] = ()
    tables: tuple[Table, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)
    reader_version: int = 0
    edits: tuple[PassageEdit, ...] = ()
    receipt: Receipt | None = None

    def __hash__(self) -> int:
        return hash(self.id)

    @cached_property
    def _page_starts(self) -> list[int]:
        return [page.start for page in self.pages]

    @cached_property
    def _table_starts(self) -> list[int]:
        return [table.start for table in self.tables]

    @cached_property
    def _heading_paths(self) -> tuple[list[int], list[str]]:
        starts, paths, stack = [], [], list[Heading]()
        for heading in self.headings:
            while stack and stack[-1].level >= heading.level:
                stack.pop()
            stack.append(heading)
            starts.append(heading.start)
            paths.append(" > ".join(part.title for part in stack))
        return starts, paths

    def page_at(self, offset: int) -> int | None:
        """Number of the page that holds ``offset``, or None for text without pages."""
        index = bisect.bisect_right(self._page_starts, offset) - 1
        return self.pages[index].number if index >= 0 else None

    def table_at(self, offset: int) -> Table | None:
        """The table that holds ``offset``, or None."""
        index = bisect.bisect_right(self._table_starts, offset) - 1
        table = self.tables[index] if index >= 0 else None
        return table if table and offset < table.end else None

    def heading_at(self, offset: int) -> str:
        """Headings in force at ``offset`` as ``"Chapter > Section"``; "" before the first."""
        starts, paths = self._heading_paths
        index = bisect.bisect_right(starts, offset) - 1
        return paths[index] if index >= 0 else ""


def chosen_encoding(metadata: Mapping[str, str]) -> str:
    """The encoding that somebody chose for a text; "" where its reader did."""
    return metadata.get("encoding", "") if metadata.get("encoding_chosen") else ""


def chunk_key(document_id: str, start: int, end: int) -> int:
    """A 63-bit key of a span, the same wherever and whenever it is computed.

    One number names the passage in SQL, FAISS and BM25, and ties break alike on every machine.
    Among a million passages the chance that any two collide is about 5e-8.
    """
    digest = hashlib.sha256(f"{document_id}:{start}:{end}".encode()).digest()
    return int.from_bytes(digest[:8]) >> 1


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: ``document.text[start:end] == text``. ``order`` counts from 0 in its document.

    ``context`` is indexed with the text and shown beside it, never as a part of it: document,
    headings, labels of a table, a line each (see ``rag.chunking.contexts``); "" without any.
    """

    key: int
    document_id: str
    start: int
    end: int
    text: str
    order: int
    heading: str = ""
    page: int | None = None
    context: str = ""

    @property
    def id(self) -> str:
        """The key as 16 hexadecimal digits; sorts like the key."""
        return f"{self.key:016x}"

    @property
    def indexed_text(self) -> str:
        """The text that is embedded and indexed for BM25: the passage's text after its context."""
        return with_context(self.context, self.text)


def name_stem(name: str) -> str:
    """Return a document's name without the extension of a file. A host keeps its domain."""
    return name if _HOST.fullmatch(name) else _EXTENSION.sub("", name) or name


def page_name(
    document: str, page: int | None, heading: str = "", before: str = "", label: str = ""
) -> str:
    """Return ``"page 5"`` after ``before``, for a sheet ``"sheet Budget"``; "" without a page.

    ``document`` is the name of the document. The first of the headings of a sheet is its name;
    without ``heading``, a sheet has only its number. The heading of a transcript is its time. Where
    another number is printed on a page, its ``label``, it is ``"page iv (sheet 5)"``.
    """
    if heading and document.lower().endswith(_TRANSCRIPTS):
        return f"{before}{heading}"
    if page is None:
        return ""
    if document.lower().endswith(_BOOKS):
        return f"{before}sheet {heading.split(' > ')[0] or page}"
    return f"{before}page {label} (sheet {page})" if label else f"{before}page {page}"


def with_context(context: str, text: str) -> str:
    """The text of a passage after its context, as it is indexed."""
    return f"{context}\n{text}" if context else text
