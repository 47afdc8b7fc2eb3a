"""The part of a passage that is worth showing first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pages.components.shell.text import CELL, Span, marked

LENGTH = 260
_ROW_END = "\x1e"  # holds the place of the line break behind a row
_CELLS = re.compile(rf"(?:{CELL})+")
LabelledRows = tuple[Span, Sequence[str]]
"""The part of a text that is rows of a table, and the names of their columns."""


def snippet(text: str, spans: Sequence[Span], length: int = LENGTH) -> str:
    """Markdown of the stretch of ``text`` with most of ``spans``, which are marked in it."""
    start, end = window(text, spans, length)
    inside = [
        (max(low, start) - start, min(high, end) - start)
        for low, high in spans
        if low < end and high > start
    ]
    before, after = "… " if start else "", " …" if end < len(text) else ""
    shown = marked(_flat(text[start:end]), inside)
    return before + _CELLS.sub(" · ", shown).replace(_ROW_END, "; ") + after


def _flat(text: str) -> str:
    """One line, each sign in its place; cells of a table stay apart, and its rows too.

    A row is shown as in quotes: with a dot between its cells.
    """
    rows = ("\t" in line for line in text.split("\n"))
    ends = (_ROW_END if row else " " for row in rows)
    return "".join(
        next(ends) if sign == "\n" else sign if sign == "\t" or not sign.isspace() else " "
        for sign in text
    )


def with_columns(
    text: str, spans: Sequence[Span], tables: Sequence[LabelledRows]
) -> tuple[str, list[Span]]:
    """Return ``text`` with the names of the columns before the cells of its rows, and its spans.

    The header and rows with another number of cells stay as they are.
    """
    pieces, shifts, at = list[str](), [(0, 0)], 0
    for row in text.splitlines(keepends=True):
        cells = row.rstrip("\n").split("\t")
        labels = next(
            (names for (start, end), names in tables if start < at + len(row) and at < end), ()
        )
        named = len(cells) == len(labels) > 1 and [*map(str.strip, cells)] != [*labels]
        for number, cell in enumerate(cells):
            label = f"{labels[number]}: " if named and labels[number] and cell.strip() else ""
            shifts.append((at, shifts[-1][1] + len(label)))
            behind = "\t" if number < len(cells) - 1 else row[len(row.rstrip("\n")) :]
            pieces.append(f"{label}{cell}{behind}")
            at += len(cell) + len(behind)

    def moved(position: int) -> int:
        return position + next((by for start, by in reversed(shifts) if start <= position), 0)

    named_spans = [
        (moved(start), moved(max(start, end - 1)) + (end > start)) for start, end in spans
    ]
    return "".join(pieces), named_spans


def window(text: str, spans: Sequence[Span], length: int) -> Span:
    """The stretch of at most ``length`` characters, cut at blanks, that holds most spans."""
    if len(text) <= length:
        return 0, len(text)
    starts = [0, *(max(low - length // 4, 0) for low, _ in spans)]
    start = max(starts, key=lambda at: (_spans_inside(spans, at, at + length), -at))
    start = min(start, len(text) - length)
    end = start + length
    if start:
        blank = text.find(" ", start, end)
        start = blank + 1 if blank >= 0 else start
    if end < len(text):
        blank = text.rfind(" ", start, end)
        end = blank if blank > start else end
    return start, end


def _spans_inside(spans: Sequence[Span], start: int, end: int) -> int:
    return sum(start <= low and high <= end for low, high in spans)
