"""The rows of a table with those of a passage marked."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import streamlit as st

from pages.components.shell.palette import palette
from rag import Document

SHOWN = 60  # rows at a time
BEFORE = 4  # rows above the passage, so that it stands in view
SURVEYED = 2000  # rows that are asked for their columns
MARK = "▶"
_TABLES = {
    "text/csv",
    "text/tab-separated-values",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_LABELLED = re.compile(r"([^:;]{1,80}): ")

Row = dict[str, str]


def is_table(document: Document) -> bool:
    """Whether a document is a table, or a workbook of them."""
    return document.media_type in _TABLES


def table_rows(document: Document, passage: tuple[int, int], height: int) -> None:
    """Draws the rows around a passage, with a pager to all others of its sheet."""
    start, end = _sheet(document, passage[0])
    lines = document.text[start:end].split("\n")
    marked = marked_lines(lines, (passage[0] - start, passage[1] - start))
    parts = -(-len(lines) // SHOWN)
    first = max((marked[0] if marked else 0) - BEFORE, 0)
    if parts > 1:
        # The pager's own part begins just above the passage; the others are cut as they come.
        key = f"source_rows_{document.id[:8]}_{passage[0]}"
        home = first // SHOWN + 1
        chosen = st.pagination(parts, default=home, max_visible_pages=5, key=key)
        first = first if chosen == home else (chosen - 1) * SHOWN
    shown = lines[first : first + SHOWN]
    names = columns([*lines[:SURVEYED], *shown])
    _draw([cells(line, names) for line in shown], names, first, set(marked), height)
    st.caption(
        f"Rows {first + 1:,} to {first + len(shown):,} of {len(lines):,}; {MARK} marks the passage."
    )


def _sheet(document: Document, offset: int) -> tuple[int, int]:
    """The page (a sheet of a workbook) that holds an offset, else the whole text."""
    sheets = ((page.start, page.end) for page in document.pages)
    return next(
        (sheet for sheet in sheets if sheet[0] <= offset < sheet[1]), (0, len(document.text))
    )


def marked_lines(lines: Sequence[str], passage: tuple[int, int]) -> list[int]:
    """Indices of the lines that a span (offsets into the joined lines) touches."""
    starts = [0, *accumulate(len(line) + 1 for line in lines)][:-1]
    first = max(bisect.bisect_right(starts, max(passage[0], 0)) - 1, 0)
    last = bisect.bisect_left(starts, passage[1])
    return list(range(first, max(last, first)))


def columns(lines: Sequence[str]) -> list[str]:
    """Names that rows have in common, in the order in which they come."""
    names = Counter(
        match.group(1)
        for line in lines
        for part in line.split("; ")
        if (match := _LABELLED.match(part))
    )
    least = 2 if len(lines) > 2 else 1
    return [name for name, count in names.items() if count >= least]


def cells(line: str, names: Sequence[str]) -> Row:
    """A line as a row; what has no name of ``names`` goes on from the cell before it."""
    row, known, name = Row(), set(names), ""
    for part in line.split("; "):
        match = _LABELLED.match(part)
        if match and match.group(1) in known and match.group(1) not in row:
            name = match.group(1)
            row[name] = part[match.end() :]
        else:
            row[name] = f"{row[name]}; {part}" if name in row else part
    return row


def _draw(
    rows: Sequence[Row], names: Sequence[str], first: int, marked: set[int], height: int
) -> None:
    import pandas as pd

    others = [""] if any("" in row for row in rows) else []
    numbers = range(first, first + len(rows))
    frame = pd.DataFrame(
        [{name: row.get(name, "") for name in (*others, *names)} for row in rows],
        index=[f"{MARK if number in marked else ''} {number + 1}".strip() for number in numbers],
    )
    tint = f"background-color: {palette().accent}33"
    styles = [tint if number in marked else "" for number in numbers]
    st.dataframe(frame.style.apply(lambda _column: styles, axis=0), height=height)
