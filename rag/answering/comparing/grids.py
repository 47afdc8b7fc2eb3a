"""Tables of the documents that a search found, as rows and columns that can be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from rag.answering.assessing.editions import edition_date, superseded
from rag.answering.reading import PassageReader
from rag.answering.statements.rows import Row, rows_within
from rag.answering.vocabulary import Terms, Vocabulary
from rag.types import Document, Hit, Table, Trace, name_stem

DOCUMENTS = 24
"""So many documents are read for one question, those of the best passages first."""
ROWS = 5000
"""A longer table is not compared."""
BEGINNING = 300
"""Characters at the beginning of a document that say what it is about."""
BEHIND_HEAD = re.compile(r"[,;(]|\s(?:with|for|of|mit|für|von|without|ohne)\s")
"""Where the name of a thing ends and what belongs to it begins."""
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z])|[_/]+")


@dataclass(frozen=True, slots=True)
class Grid:
    """The rows of a table with the best passage of its document. ``about`` are the terms of what
    stands over it: names, headings, caption."""

    hit: Hit
    document: Document
    table: Table
    rows: tuple[Row, ...]
    about: Terms

    @property
    def width(self) -> int:
        """The number of its columns."""
        return max((len(self.table.labels), *(len(row.cells) for row in self.rows)))

    def label(self, column: int) -> str:
        """The label of a column; "" for one without."""
        labels = self.table.labels
        return labels[column].rstrip(":") if column < len(labels) else ""


def documents_of(trace: Trace, reader: PassageReader) -> list[tuple[Hit, Document]]:
    """The documents behind the context and the other candidates, each with its best hit."""
    by_document: dict[tuple[str, str], tuple[Hit, Document]] = {}
    others = sorted(trace.candidates, key=lambda hit: hit.rank)
    for hit in (*trace.context, *others):
        key = hit.base, hit.chunk.document_id
        if key in by_document or len(by_document) == DOCUMENTS:
            continue
        document = reader.document(hit)
        if document is not None:
            by_document[key] = hit, document
    return list(by_document.values())


def in_force(
    documents: Sequence[tuple[Hit, Document]], day: str, reader: PassageReader
) -> tuple[list[tuple[Hit, Document]], tuple[str, ...]]:
    """The documents without superseded editions (as of a day), and their names."""
    dates = {document.name: edition_date(document.name, document.text) for _, document in documents}
    hits = {document.name: hit for hit, document in documents}
    left_out = superseded(
        dates, day, lambda one, other: not reader.are_of_occasions(hits[one], hits[other])
    )
    return [pair for pair in documents if pair[1].name not in left_out], left_out


def grids(documents: Sequence[tuple[Hit, Document]], words: Vocabulary) -> Iterator[Grid]:
    """The tables of documents that have at least two rows."""
    for hit, document in documents:
        excluded = [(edit.start, edit.end) for edit in document.edits if edit.kind == "exclude"]
        for table in document.tables:
            rows = tuple(
                row
                for row in rows_within(document, (table.start, table.end))
                if not any(start < row.end and row.start < end for start, end in excluded)
            )
            if 1 < len(rows) <= ROWS:
                yield Grid(hit, document, table, rows, _about(document, table, words))


def label_terms(label: str, words: Vocabulary) -> Terms:
    """The terms of a label, which may be written as code writes names: ``lead_time_days``."""
    return words.terms(_CAMEL.sub(" ", label)) if label.strip() else frozenset()


def cell_of(row: Row, column: int) -> str:
    """The text of a cell; "" for a row that ends before it."""
    return row.cells[column] if column < len(row.cells) else ""


def hit_of(grid: Grid, rows: Sequence[Row]) -> Hit:
    """A hit whose passage has some rows of a table whole."""
    start, end = min(row.start for row in rows), max(row.end for row in rows)
    chunk, document = grid.hit.chunk, grid.document
    if chunk.start <= start and end <= chunk.end:
        return grid.hit
    wide = replace(
        chunk,
        start=start,
        end=end,
        text=document.text[start:end],
        heading=document.heading_at(start) or chunk.heading,
        page=document.page_at(start),
        context="",
    )
    return replace(grid.hit, chunk=wide)


def _about(document: Document, table: Table, words: Vocabulary) -> Terms:
    page = document.page_at(table.start)
    head = next((one.head for one in document.pages if one.number == page), "")
    name = name_stem(document.name)
    heading = document.heading_at(table.start) or ""
    beginning = document.text[: min(BEGINNING, document.tables[0].start)]
    parts = (_CAMEL.sub(" ", name), head, heading, table.caption, beginning)
    return words.terms(" ".join(parts))
