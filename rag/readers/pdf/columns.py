"""Columns of a table on a page, and which cell, perhaps drawn as a box, each word stands in."""

from __future__ import annotations

import itertools
import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag.readers.pdf.drawn import Drawn, Rule
from rag.readers.pdf.rows import EM, Row, Segment, joined_lines, rows_of, text_of
from rag.readers.pdf.words import Word
from rag.types import Span

_STEPS = 2  # to a point, in which the page's width is looked at
_FREE = 0.06  # share of the rows that may cross the white between two columns
_LEAST_WHITE = 0.35  # line heights that are white between two columns
_TALL = 0.6  # share of a table's height from which on a line parts its columns
_SPANNING_GAP = 0.6  # em between words at a boundary from which on they are of two cells


Place = tuple[float, float]
"""Where the words of a cell begin and end across the page, in points."""


@dataclass(slots=True)
class GridRow:
    """A row of a table: for each column its text and where that begins and ends across the page,
    and (first, last) of cells that reach over several columns."""

    cells: list[str]
    places: list[Place | None]
    spans: list[Span]
    top: float
    bottom: float
    height: float
    words: list[Word] = field(default_factory=list)

    @property
    def filled(self) -> list[int]:
        """Columns that have a text."""
        return [index for index, cell in enumerate(self.cells) if cell]


@dataclass(frozen=True, slots=True)
class Columns:
    """Boundaries between columns, from left to right; ``drawn`` are those that are lines."""

    cuts: list[float]
    drawn: list[float]

    def at(self, place: float) -> int:
        """The column that holds a place."""
        return sum(cut <= place for cut in self.cuts)


def columns_of(rows: Sequence[Row], drawn: Drawn) -> Columns:
    """Return the boundaries between the columns of some rows.

    Boundaries are vertical lines, and strips with ink in hardly any row that are wider than any gap
    between words.
    """
    left = min(row.left for row in rows)
    right = max(row.right for row in rows)
    height = statistics.median(row.height for row in rows)
    # The positions of the vertical lines that separate most of the rows. A line may be drawn as a
    # whole or cell by cell.
    top, bottom = rows[0].top, rows[-1].bottom
    parted: dict[int, float] = {}
    for rule in drawn.down:
        shared = min(rule.end, bottom) - max(rule.start, top)
        if shared > 0 and left + 3 < rule.at < right - 3:
            near = next(
                (at for at in (round(rule.at) + d for d in (0, -1, 1)) if at in parted), None
            )
            place = round(rule.at) if near is None else near
            parted[place] = parted.get(place, 0.0) + shared
    lines = sorted(float(at) for at, long in parted.items() if long > _TALL * (bottom - top))
    white = [
        (first + last) / 2
        for first, last in _white(rows, left, right, height)
        if not any(first - height / 2 <= line <= last + height / 2 for line in lines)
    ]
    return Columns(sorted(white + lines), lines)


def _white(
    rows: Sequence[Row], left: float, right: float, height: float
) -> list[tuple[float, float]]:
    """From where to where hardly a row has ink."""
    several = [row for row in rows if len(row.segments) >= 2]
    most = max((len(row.segments) for row in several), default=2)
    ink = np.zeros(int((right - left) * _STEPS) + 3)
    for row in several:
        weight = 1.0 if len(row.segments) >= max(2, most * 0.5) else 0.4
        for segment in row.segments:
            first, last = (int((x - left) * _STEPS) for x in (segment.left, segment.right))
            ink[first : last + 1] += weight
    free = np.concatenate([[False], ink <= _FREE * len(several), [False]])
    edges = np.flatnonzero(free[1:] != free[:-1])
    runs = zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
    return [
        (left + first / _STEPS, left + last / _STEPS)
        for first, last in runs
        if first > 0 and last < len(ink) and (last - first) / _STEPS >= _LEAST_WHITE * height
    ]


def grid_rows(rows: Sequence[Row], columns: Columns, drawn: Drawn) -> list[GridRow]:
    """Each row with its words in their cells."""
    return [_grid_row(row, columns, drawn) for row in rows]


def _grid_row(row: Row, columns: Columns, drawn: Drawn) -> GridRow:
    cells: list[list[Word]] = [[] for _ in range(len(columns.cuts) + 1)]
    spans = list[Span]()
    middle = (row.top + row.bottom) / 2
    lines = [cut in columns.drawn and _is_line(cut, middle, drawn) for cut in columns.cuts]
    for segment in row.segments:
        first, last = columns.at(segment.left + 1), columns.at(segment.right - 1)
        if last > first and not _is_parted(segment, row, first, columns.cuts[first:last], lines):
            spans.append((first, last))
            cells[first] += segment.words
            continue
        for word in segment.words:
            place = columns.at((word.left + word.right) / 2)
            cells[min(max(place, first), max(first, last))].append(word)
    if any(lines):
        spans += _unparted(cells, columns, lines)
    texts = [text_of(words) for words in cells]
    places = [_place(words) for words in cells]
    return GridRow(texts, places, spans, row.top, row.bottom, row.height, row.words)


def _is_line(cut: float, middle: float, drawn: Drawn) -> bool:
    return any(abs(rule.at - cut) < 1.5 and rule.start <= middle <= rule.end for rule in drawn.down)


def _unparted(
    cells: Sequence[Sequence[Word]], columns: Columns, lines: Sequence[bool]
) -> Iterator[Span]:
    """Cells that no line parts from empty ones beside, where other columns are parted by lines."""

    def is_open(cut: int) -> bool:
        return columns.cuts[cut] in columns.drawn and not lines[cut]

    for index, words in enumerate(cells):
        first = last = index
        while words and first > 0 and is_open(first - 1) and not cells[first - 1]:
            first -= 1
        while words and last < len(lines) and is_open(last) and not cells[last + 1]:
            last += 1
        if last > first:
            yield first, last


def _place(words: Sequence[Word]) -> Place | None:
    return (min(w.left for w in words), max(w.right for w in words)) if words else None


def _is_parted(
    segment: Segment, row: Row, first: int, cuts: Sequence[float], lines: Sequence[bool]
) -> bool:
    """Whether the words of a segment over several columns are of a cell each."""
    gaps = []
    for index, cut in enumerate(cuts, first):
        if lines[index]:
            return True
        before = [word.right for word in segment.words if (word.left + word.right) / 2 < cut]
        after = [word.left for word in segment.words if (word.left + word.right) / 2 >= cut]
        gaps.append(min(after) - max(before) if before and after else 0.0)
    return min(gaps) >= _SPANNING_GAP * EM * row.height


_SAME_LINE = 3.0  # points between two lines that are one
_OVER_EDGE = 3.0  # points by which a line may miss the words of its table
_FEWEST = 3  # lines that bound two rows or two columns

Cell = tuple[int, int]
"""A row and a column between two neighbouring lines."""


def lattice_rows(rows: Sequence[Row], drawn: Drawn) -> list[GridRow] | None:
    """Return the rows of a table that is drawn as boxes; the words of a box stand in all its rows.

    None where no box reaches over several rows, where such a row has no other text, as in a
    drawing, or where lines part columns alone: there the rows of the text tell more.
    """
    words = [word for row in rows for word in row.words]
    edges = (
        min(word.left for word in words) - _OVER_EDGE,
        min(word.top for word in words) - _OVER_EDGE,
        max(word.right for word in words) + _OVER_EDGE,
        max(word.bottom for word in words) + _OVER_EDGE,
    )
    down = [rule for rule in drawn.down if rule.start < edges[3] and rule.end > edges[1]]
    across = [rule for rule in drawn.across if rule.start < edges[2] and rule.end > edges[0]]
    xs, ys = _places(down), _places(across)
    if min(len(xs), len(ys)) < _FEWEST:
        return None
    boxes = _boxes(xs, ys, down, across)
    texts: dict[Cell, list[Word]] = defaultdict(list)
    for word in words:
        at = _between(ys, word.middle), _between(xs, (word.left + word.right) / 2)
        if at not in boxes:
            return None
        texts[boxes[at]].append(word)
    tall = {box for (row, _), box in boxes.items() if row > box[0] and texts.get(box)}
    own = {row for row, _ in texts.keys() - tall}
    reached = {row for (row, _), box in boxes.items() if box in tall}
    if not tall or not reached <= own or not _is_one_line_a_row(texts, tall):
        return None
    grid = [
        _box_row(row, boxes, texts, len(xs) - 1, (ys[row], ys[row + 1]))
        for row in range(len(ys) - 1)
    ]
    return [row for row in grid if row.filled]


def _places(rules: Sequence[Rule]) -> list[float]:
    places = list[float]()
    for at in sorted(rule.at for rule in rules):
        if not places or at - places[-1] > _SAME_LINE:
            places.append(at)
    return places


def _between(places: Sequence[float], at: float) -> int:
    return sum(place <= at for place in places) - 1


def _boxes(
    xs: Sequence[float], ys: Sequence[float], down: Sequence[Rule], across: Sequence[Rule]
) -> dict[Cell, Cell]:
    """Return for each cell the first one of its box: no line stands between the two."""
    boxes = dict[Cell, Cell]()
    for row, (top, bottom) in enumerate(itertools.pairwise(ys)):
        for column, (left, right) in enumerate(itertools.pairwise(xs)):
            here = row, column
            boxes[here] = here
            if column and not _is_ruled(down, left, (top + bottom) / 2):
                boxes[here] = boxes[row, column - 1]
            elif row and not _is_ruled(across, top, (left + right) / 2):
                boxes[here] = boxes[row - 1, column]
    return boxes


def _is_ruled(rules: Sequence[Rule], at: float, middle: float) -> bool:
    return any(
        abs(rule.at - at) <= _SAME_LINE and rule.start <= middle <= rule.end for rule in rules
    )


def _is_one_line_a_row(texts: dict[Cell, list[Word]], tall: set[Cell]) -> bool:
    """Whether boxes that are one row high are no columns of several rows of text."""
    lines: dict[int, list[int]] = defaultdict(list)
    for box, words in texts.items():
        if box not in tall:
            lines[box[0]].append(len(rows_of(words)))
    return all(min(counts) == 1 for counts in lines.values() if len(counts) > 1)


def _box_row(
    row: int,
    boxes: dict[Cell, Cell],
    texts: dict[Cell, list[Word]],
    columns: int,
    edges: tuple[float, float],
) -> GridRow:
    cells, spans = [""] * columns, list[tuple[int, int]]()
    places: list[tuple[float, float] | None] = [None] * columns
    for box, group in itertools.groupby(range(columns), lambda column: boxes[row, column]):
        first, *others = group
        words = texts.get(box, [])
        for line in rows_of(words) if words else ():
            cells[first] = joined_lines(cells[first], line.text)
        if words:
            places[first] = min(w.left for w in words), max(w.right for w in words)
        if others:
            spans.append((first, others[-1]))
    own = [word for column in range(columns) for word in texts.get((row, column), [])]
    height = max((word.height for word in own), default=edges[1] - edges[0])
    return GridRow(cells, places, spans, *edges, height, own)
