"""The rows of a table with those of a passage marked."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import accumulate

import streamlit as st

from pages.components.source.element import KINDS, Cell, draw_blocks, table_block
from rag import Document, Table

SHOWN = 60  # rows at a time
MARK = "▶"
_TABLES = {
    "text/csv",
    "text/tab-separated-values",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.oasis.opendocument.spreadsheet",
}


def is_table(document: Document) -> bool:
    """Whether a document is a table, or a workbook of them."""
    return document.media_type in _TABLES and bool(document.tables)


def table_rows(document: Document, marks: Sequence[tuple[int, int]], height: int) -> None:
    """Draw the rows around a passage, with a pager to all others of its table.

    ``marks`` has the spans of the passage and, where there are any, of the words quoted from it.
    """
    passage = marks[0]
    table = _table(document, passage[0])
    lines = document.text[table.start : table.end].split("\n")
    names = names_of(table, lines)
    above = table.header_rows(lines)
    kinds = row_kinds(lines, table.start, marks)
    kinds = {index - above: kind for index, kind in kinds.items() if index >= above}
    lines = lines[above:]
    parts = -(-len(lines) // SHOWN)
    first = 0
    if parts > 1:
        key = f"source_rows_{document.id[:8]}_{passage[0]}"
        home = min(kinds, default=0) // SHOWN + 1
        first = SHOWN * (st.pagination(parts, default=home, max_visible_pages=5, key=key) - 1)
    visible = lines[first : first + SHOWN]
    rows = [
        (
            _row(first + index, line, len(names), first + index in kinds),
            kinds.get(first + index, ""),
        )
        for index, line in enumerate(visible)
    ]
    head = [[("", "")], *([(name, "")] for name in names)]
    drawn = table_block([head], rows, numbered=True)
    draw_blocks([drawn], f"{document.id}:{marks}:{first}", height)
    st.caption(
        f"Rows {first + 1:,} to {first + len(visible):,} of {len(lines):,}; "
        f"{MARK} marks the passage."
    )


def _table(document: Document, offset: int) -> Table:
    """The table that holds an offset, else the next one below it, else the last."""
    below = (table for table in document.tables if table.end > offset)
    return next(below, document.tables[-1])


def marked_lines(lines: Sequence[str], passage: tuple[int, int]) -> list[int]:
    """Indices of the lines that a span (offsets into the joined lines) touches."""
    starts = [0, *accumulate(len(line) + 1 for line in lines)][:-1]
    first = max(bisect.bisect_right(starts, max(passage[0], 0)) - 1, 0)
    last = bisect.bisect_left(starts, passage[1])
    return list(range(first, max(last, first)))


def row_kinds(lines: Sequence[str], start: int, marks: Sequence[tuple[int, int]]) -> dict[int, str]:
    """The marks of the lines of a table that begins at ``start``, by their index."""
    end = start + sum(len(line) + 1 for line in lines) - 1
    kinds = dict[int, str]()
    for kind, mark in zip(KINDS, marks, strict=False):
        if mark[0] < end and mark[1] > start:
            touched = marked_lines(lines, (mark[0] - start, mark[1] - start))
            kinds |= dict.fromkeys(touched, kind)
    return kinds


def names_of(table: Table, lines: Sequence[str]) -> list[str]:
    """A name for each column: its label, or its number where it has none of its own."""
    width = max((line.count("\t") + 1 for line in lines), default=1)
    names = list[str]()
    for number in range(max(width, len(table.labels))):
        label = table.labels[number] if number < len(table.labels) else ""
        names.append(label if label and label not in names else str(number + 1))
    return names


def _row(index: int, line: str, width: int, marked: bool) -> list[Cell]:
    """The cells of a row after its number, as many as the table has columns."""
    number = f"{MARK} {index + 1}" if marked else str(index + 1)
    cells = line.split("\t")
    return [[(words, "")] for words in (number, *cells, *[""] * (width - len(cells)))]
