"""The rows of a table with those of a passage marked."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from itertools import accumulate

import streamlit as st

from pages.components.shell.palette import palette
from rag import Document, Table

SHOWN = 60  # rows at a time
BEFORE = 4  # rows above the passage, so that it stands in view
MARK = "▶"
_TABLES = {
    "text/csv",
    "text/tab-separated-values",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}

Row = dict[str, str]


def is_table(document: Document) -> bool:
    """Whether a document is a table, or a workbook of them."""
    return document.media_type in _TABLES and bool(document.tables)


def table_rows(document: Document, passage: tuple[int, int], height: int) -> None:
    """Draws the rows around a passage, with a pager to all others of its table."""
    table = _table(document, passage[0])
    lines = document.text[table.start : table.end].split("\n")
    names = names_of(table, lines)
    above = table.header_rows(lines)
    marked = marked_lines(lines, (passage[0] - table.start, passage[1] - table.start))
    marked = [index - above for index in marked if index >= above]
    lines = lines[above:]
    parts = -(-len(lines) // SHOWN)
    first = max((marked[0] if marked else 0) - BEFORE, 0)
    if parts > 1:
        # The pager's own part begins just above the passage; the others are cut as they come.
        key = f"source_rows_{document.id[:8]}_{passage[0]}"
        home = first // SHOWN + 1
        chosen = st.pagination(parts, default=home, max_visible_pages=5, key=key)
        first = first if chosen == home else (chosen - 1) * SHOWN
    visible = lines[first : first + SHOWN]
    _draw([cells(line, names) for line in visible], names, first, set(marked), height)
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


def names_of(table: Table, lines: Sequence[str]) -> list[str]:
    """A name for each column: its label, or its number where it has none of its own."""
    width = max((line.count("\t") + 1 for line in lines), default=1)
    names = list[str]()
    for number in range(max(width, len(table.labels))):
        label = table.labels[number] if number < len(table.labels) else ""
        names.append(label if label and label not in names else str(number + 1))
    return names


def cells(line: str, names: Sequence[str]) -> Row:
    """A line as a row."""
    return dict(zip(names, line.split("\t"), strict=False))


def _draw(
    rows: Sequence[Row], names: Sequence[str], first: int, marked: set[int], height: int
) -> None:
    import pandas as pd

    numbers = range(first, first + len(rows))
    frame = pd.DataFrame(
        [{name: row.get(name, "") for name in names} for row in rows],
        index=[f"{MARK if number in marked else ''} {number + 1}".strip() for number in numbers],
    )
    tint = f"background-color: {palette().accent}33"
    styles = [tint if number in marked else "" for number in numbers]
    st.dataframe(frame.style.apply(lambda _column: styles, axis=0), height=height)
