"""The rows of a table as they were meant: wrapped cells joined, headers told from data."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.readers.pdf.columns import Columns, GridRow, Place, columns_of, grid_rows, lattice_rows
from rag.readers.pdf.drawn import Drawn
from rag.readers.pdf.rows import Row, is_figure, is_year, joined_lines
from rag.readers.tables import holds_values, named_by_groups
from rag.types import Span

_CLOSE = 0.55  # line heights between lines of one cell where nothing rules rows off
_SAME_CELL = 0.9  # the same where lines rule them off
_RULED_SHARE = 0.3  # of the steps between rows that have a line, from which on lines are believed
_ALL_RULED = 0.8  # of the rows that begin in the first column are ruled off: all of them are
_MOST_HEADER_ROWS = 5
_LONGEST_LABEL = 60
_LONGEST_LEAD = 90  # characters of a row that may still be a part of the header
_OFF_CENTRE = 0.25  # of the step between columns that a label stands off the middle
_BAND_COLUMNS = 4  # from so many on, one cell alone is the title of a group of rows
_ALIKE = 12.0  # points that columns of one table may differ by from page to page
_DIGITS = re.compile(r"\d+")
_EDGE = 2.5  # points by which a line may run into the ink


@dataclass(frozen=True, slots=True)
class FoundTable:
    """Rows of cells, header rows first, and a label for each column, none without a header.

    ``middles`` are those of the columns across the page, in points. ``heads`` are the labels of
    tables that go on with it, where it is nothing but a header.
    """

    rows: list[list[str]]
    labels: tuple[str, ...]
    middles: tuple[float, ...]
    heads: tuple[str, ...] = ()

    @property
    def column_labels(self) -> tuple[str, ...]:
        """The labels of what goes on with this table."""
        return self.labels or self.heads

    def is_part_of(self, before: FoundTable) -> bool:
        """Whether it goes on with a table behind the title of a group of rows, without a header."""
        return not self.labels and len(self.middles) >= _BAND_COLUMNS and self.continues(before)

    def continues(self, before: FoundTable) -> bool:
        """Whether it may be the rest, on the next page, of a table: its columns stand alike."""
        alike = len(self.middles) == len(before.middles) and all(
            abs(one - other) <= _ALIKE
            for one, other in zip(self.middles, before.middles, strict=True)
        )
        return alike and bool(before.column_labels) and self.rows[0] != before.rows[0]


def found_table(rows: Sequence[Row], drawn: Drawn) -> FoundTable | None:
    """The table that rows of a page make, or None where they have no columns."""
    columns = columns_of(rows, drawn)
    if not columns.cuts:
        return None
    left, right = min(row.left for row in rows), max(row.right for row in rows)
    lattice = lattice_rows(rows, drawn)
    grid = lattice or _merged(grid_rows(rows, columns, drawn), drawn, left, right)
    grid = _without_empty_columns(grid)
    if len(grid) < 2 or len(grid[0].cells) < 2:
        return None
    count, middles = _header_rows(grid), _middles(grid)
    while lattice and 0 < count < len(grid) - 1 and grid[count - 1].spans:
        count += 1  # below a box over several columns stand their own labels
    labels = _labels(grid[:count], middles, drawn)
    named = named_by_groups(
        (row.cells, place >= count and row.filled == [0] and _is_over_all(row, drawn, left, right))
        for place, row in enumerate(grid)
    )
    above = [row for row in grid if len(row.filled) > 1 and not count]
    is_header = above and not any(map(_has_data, grid))  # and nothing else, but for a title
    heads = _labels(above, middles, drawn) if is_header else ()
    return FoundTable(list(named), labels if count else (), tuple(middles), heads)


def _is_over_all(row: GridRow, drawn: Drawn, left: float, right: float) -> bool:
    """Whether a row is one box amid rows that lines down part into several."""
    inside = [rule for rule in drawn.down if left + _EDGE < rule.at < right - _EDGE]
    middle = (row.top + row.bottom) / 2
    ends = [rule for rule in inside if row.top - row.height < rule.end < middle]
    starts = [rule for rule in inside if middle < rule.start < row.bottom + row.height]
    return bool(ends and starts) and not any(rule.start < middle < rule.end for rule in inside)


def grown(rows: Sequence[Row], first: int, last: int, drawn: Drawn) -> Span:
    """A region with lines of its header above, and of wrapped cells below."""
    columns = columns_of(rows[first : last + 1], drawn)
    if not columns.cuts:
        return first, last
    left = min(row.left for row in rows[first : last + 1])
    right = max(row.right for row in rows[first : last + 1])
    while last + 1 < len(rows):
        row, before = rows[last + 1], rows[last]
        near = row.top - before.bottom < _CLOSE * row.height
        if not near or not _is_inside(row, columns, right):
            break
        if drawn.rules_off(before.bottom - _EDGE, row.top + _EDGE, left, right):
            break
        last += 1
    for row in reversed(rows[max(first - 2, 0) : first]):
        near = rows[first].top - row.bottom < row.height
        if not near or len(row.text) >= _LONGEST_LEAD or not _is_inside(row, columns, right):
            break
        first -= 1
    return first, last


def _is_inside(row: Row, columns: Columns, right: float) -> bool:
    """Whether a row stands under the columns behind the first, as only a part of a row does."""
    return row.left >= columns.cuts[0] - 2 and row.right <= right + 4


def _merged(grid: list[GridRow], drawn: Drawn, left: float, right: float) -> list[GridRow]:
    """Lines of wrapped cells as one row. Drawn lines are believed, else an empty first column."""

    def parted(one: GridRow, other: GridRow) -> bool:
        return drawn.rules_off(one.bottom - _EDGE, other.top + _EDGE, left, right)

    steps = list(itertools.pairwise(grid))
    lines = sum(parted(*step) for step in steps)
    whole = (
        len(grid) > 2 and lines >= _ALL_RULED * (sum(bool(row.cells[0]) for row in grid) - 1) > 0
    )
    ruled = len(grid) > 3 and lines >= _RULED_SHARE * len(steps)
    joins = _continues_ruled if ruled else _continues
    merged = list[GridRow]()
    for row in grid:
        before = merged[-1] if merged else None
        if before is not None and not parted(before, row) and (whole or joins(before, row)):
            before.cells = [
                joined_lines(*pair) for pair in zip(before.cells, row.cells, strict=True)
            ]
            before.places = [_around(*pair) for pair in zip(before.places, row.places, strict=True)]
            before.spans += row.spans
            before.words += row.words
            before.bottom = row.bottom
        else:
            merged.append(row)
    return merged


def _around(one: Place | None, other: Place | None) -> Place | None:
    if one is None or other is None:
        return one or other
    return min(one[0], other[0]), max(one[1], other[1])


def _continues_ruled(before: GridRow, row: GridRow) -> bool:
    rest = [cell for cell in row.cells[1:] if cell]
    data = bool(row.cells[0]) and any(map(is_figure, rest)) and all(map(is_figure, rest))
    return row.top - before.bottom < _SAME_CELL * row.height and not data


def _continues(before: GridRow, row: GridRow) -> bool:
    if row.top - before.bottom >= _CLOSE * row.height or not row.filled:
        return False
    figures = any(
        is_figure(row.cells[index]) or is_figure(before.cells[index]) for index in row.filled
    )
    first, above = row.cells[0], before.cells[0]
    if not first and above and not figures and set(row.filled) <= set(before.filled):
        return True  # nothing begins in the first column
    begins_small = first[:1].islower() and bool(above) and not above.endswith(":")
    return begins_small and (before.filled == [0] or row.filled == [0])


def _without_empty_columns(grid: list[GridRow]) -> list[GridRow]:
    """Columns of nothing, or of currency signs only, go."""
    if not grid:
        return grid
    filled = [
        index
        for index in range(len(grid[0].cells))
        if any(row.cells[index].strip(" $€") for row in grid)
    ]
    place = {old: new for new, old in enumerate(filled)}
    for row in grid:
        row.cells = [row.cells[index] for index in filled]
        row.places = [row.places[index] for index in filled]
        row.spans = [
            (min(inside), max(inside))
            for first, last in row.spans
            if (inside := [place[column] for column in range(first, last + 1) if column in place])
        ]
    return grid


def _labels(rows: Sequence[GridRow], middles: Sequence[float], drawn: Drawn) -> tuple[str, ...]:
    """The words of rows above the data, joined, for each column."""
    labels = [""] * len(middles)
    for number, row in enumerate(rows):
        for index in row.filled:
            over = number < len(rows) - 1
            for column in _covered(row, index, middles, drawn if over else None):
                if row.cells[index] != labels[column]:  # a cell over both rows
                    labels[column] = f"{labels[column]} {row.cells[index]}".strip()
    return tuple(labels)


def _covered(
    row: GridRow, index: int, middles: Sequence[float], drawn: Drawn | None
) -> Sequence[int]:
    """The columns that a cell of the header names: those it reaches over, or (where there is
    something drawn to ask) those over which a line below it runs, or it is centred."""
    for first, last in row.spans:
        if first <= index <= last:
            return range(first, last + 1)
    place = row.places[index]
    if drawn is None or place is None:
        return (index,)
    x = (place[0] + place[1]) / 2
    for rule in drawn.across:
        below = row.bottom - _EDGE <= rule.at <= row.bottom + _CLOSE * row.height
        if below and rule.start - 2 <= x <= rule.end + 2:
            under = [n for n, middle in enumerate(middles) if rule.start < middle < rule.end]
            if index in under and 1 < len(under) < len(middles):
                return under
    # The empty columns beside a cell that stands over the middle of them all, not of its own
    pitch = min(b - a for a, b in itertools.pairwise(middles))
    if abs(x - middles[index]) <= _OFF_CENTRE * pitch:
        return (index,)
    step = 1 if x > middles[index] else -1
    group = [index]
    while 0 < (beside := group[-1] + step) < len(middles) and not row.cells[beside]:
        group.append(beside)
        if abs((middles[index] + middles[beside]) / 2 - x) <= _OFF_CENTRE * pitch:
            return sorted(group)
    return (index,)


def _middles(grid: Sequence[GridRow]) -> list[float]:
    """The middle of each column across the page."""
    middles = []
    for column in range(len(grid[0].cells)):
        places = [row.places[column] for row in grid]
        usable = [place for row, place in zip(grid, places, strict=True) if place and not row.spans]
        usable = usable or [place for place in places if place]
        middles.append((min(p[0] for p in usable) + max(p[1] for p in usable)) / 2)
    return middles


def _header_rows(grid: Sequence[GridRow]) -> int:
    rows = [row.cells for row in grid]
    if any(word.is_value for word in grid[0].words):
        return 0
    if len(grid[0].filled) > 1 and holds_values(rows[0], rows[1:]):
        return 0
    first = next((index for index, row in enumerate(grid) if _has_data(row)), None)
    if first is None or first > _MOST_HEADER_ROWS:
        labels = [cell for cell in grid[0].cells if cell]
        short = all(len(label) <= _LONGEST_LABEL and not is_figure(label) for label in labels)
        return int(len(labels) >= 2 and short)
    data = grid[first] if first < len(grid) else None
    while first and data and (_is_band(grid[first - 1], data) or _is_entry(grid[first - 1], data)):
        first -= 1
    wide = len(grid[0].cells) >= _BAND_COLUMNS
    return 0 if wide and all(len(row.filled) == 1 for row in grid[:first]) else first


def _is_entry(row: GridRow, below: GridRow) -> bool:
    """Whether a row without figures is data: its first cell is a code like that below."""
    codes = (_DIGITS.sub("0", one.cells[0].replace(" ", "")) for one in (row, below))
    return _DIGITS.search(row.cells[0]) is not None and next(codes) == next(codes)


def _is_band(row: GridRow, data: GridRow) -> bool:
    """Whether a row over data is the title of a group of rows.

    A cell over a column of figures is a part of the header, such as the unit of a price.
    """
    if row.filled == [0] and not row.spans:
        return True
    if len(row.filled) != 1 or len(row.cells) < _BAND_COLUMNS:
        return False
    column = row.filled[0]
    return row.cells[column][:1].isupper() and not is_figure(data.cells[column])


def _has_data(row: GridRow) -> bool:
    return any(is_figure(cell) and not is_year(cell) for cell in row.cells[1:] if cell)
