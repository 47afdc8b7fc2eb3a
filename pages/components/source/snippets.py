"""The part of a passage that is worth showing first."""

from __future__ import annotations

import re
from collections import Counter
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

    The header and rows with another number of cells stay as they are. Spans in the header are also
    in the names before the cells.
    """
    pieces, shifts, at = list[str](), [(0, 0)], 0
    in_names = dict[tuple[str, ...], list[list[Span]]]()
    named_spans = list[Span]()
    for row in text.splitlines(keepends=True):
        cells = row.rstrip("\n").split("\t")
        labels = next(
            (names for (start, end), names in tables if start < at + len(row) and at < end), ()
        )
        is_header = [*map(str.strip, cells)] == [*labels]
        if is_header:
            in_names[tuple(labels)] = _by_cell(cells, at, spans)
        named = len(cells) == len(labels) > 1 and not is_header
        for number, cell in enumerate(cells):
            label = f"{labels[number]}: " if named and labels[number] and cell.strip() else ""
            if label and (of_cells := in_names.get(tuple(labels))):
                here = at + shifts[-1][1]
                named_spans += [(here + start, here + end) for start, end in of_cells[number]]
            shifts.append((at, shifts[-1][1] + len(label)))
            behind = "\t" if number < len(cells) - 1 else row[len(row.rstrip("\n")) :]
            pieces.append(f"{label}{cell}{behind}")
            at += len(cell) + len(behind)

    def moved(position: int) -> int:
        return position + next((by for start, by in reversed(shifts) if start <= position), 0)

    named_spans += [
        (moved(start), moved(max(start, end - 1)) + (end > start)) for start, end in spans
    ]
    return "".join(pieces), sorted(named_spans)


def _by_cell(cells: Sequence[str], at: int, spans: Sequence[Span]) -> list[list[Span]]:
    """Return the spans in each cell of a row that begins at ``at``, counted from its words on."""
    by_cell = list[list[Span]]()
    for cell in cells:
        start, end = at + len(cell) - len(cell.lstrip()), at + len(cell.rstrip())
        inside = [(low - start, high - start) for low, high in spans if start <= low < high <= end]
        by_cell.append(inside)
        at += len(cell) + 1
    return by_cell


def window(text: str, spans: Sequence[Span], length: int) -> Span:
    """The stretch of at most ``length`` characters, cut at blanks, that holds the rarest spans.

    A word counts less the more often it is marked: one that every row of a table has tells little.
    """
    if len(text) <= length:
        return 0, len(text)
    words = [text[low:high].casefold() for low, high in spans]
    counts = Counter(words)
    weights = [1 / counts[word] for word in words]
    starts = [0, *(_lead(text, low, length) for low, _ in spans)]

    def worth(at: int) -> tuple[float, bool, int]:
        weight = _weight_inside(spans, weights, at, at + length)
        return round(weight, 6), at == 0 or text[at - 1] == "\n", -at

    start = max(starts, key=worth)
    start = min(start, len(text) - length)
    end = start + length
    if start and not text[start - 1].isspace():
        blank = text.find(" ", start, end)
        start = blank + 1 if blank >= 0 else start
    if end < len(text):
        blank = text.rfind(" ", start, end)
        end = blank if blank > start else end
    return start, end


def _lead(text: str, low: int, length: int) -> int:
    """Return where a stretch for a span begins: with its row of a table, or a little before it."""
    row = text.rfind("\n", 0, low) + 1
    if low - row <= length // 2 and "\t" in text[row:].partition("\n")[0]:
        return row
    return max(low - length // 4, 0)


def _weight_inside(spans: Sequence[Span], weights: Sequence[float], start: int, end: int) -> float:
    inside = zip(spans, weights, strict=True)
    return sum(weight for (low, high), weight in inside if start <= low and high <= end)
