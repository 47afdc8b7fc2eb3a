"""Tables whose cells are drawn as boxes, some of which reach over several rows."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Sequence

from rag.readers.pdf.columns import GridRow
from rag.readers.pdf.drawn import Drawn, Rule
from rag.readers.pdf.rows import Row, rows_of
from rag.readers.pdf.text import joined_lines
from rag.readers.pdf.words import Word

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
        _grid_row(row, boxes, texts, len(xs) - 1, (ys[row], ys[row + 1]))
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


def _grid_row(
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
