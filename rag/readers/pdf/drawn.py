"""Lines and fills that are drawn on a PDF page: what rules off the rows and columns of tables."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rag.readers.pdf.words import Turn

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_PATH, _FORM = 2, 5  # FPDF_PAGEOBJ_PATH, FPDF_PAGEOBJ_FORM of fpdf_edit.h
_MOVE, _LINE = 2, 0  # FPDF_SEGMENT_MOVETO, FPDF_SEGMENT_LINETO of fpdfview.h
_MOST_OBJECTS = 4000  # of a page: a map or a plot is no table
_MOST_SEGMENTS = 400  # of a path
_THIN = 2.5  # points; what is thicker is a fill
_SHORTEST = 6.0
_MOST_OF_ROW = 0.45  # of a row's width that lines between two rows run along
_BACKGROUND = 0.6  # share of the page from which on a fill is its background
_Matrix = tuple[float, float, float, float, float, float]
_PLAIN: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Rule:
    """A line from ``start`` to ``end`` at a height (or a column, where it stands), in points."""

    start: float
    end: float
    at: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """Lines across, lines down, and filled boxes (left, top, right, bottom)."""

    across: list[Rule] = field(default_factory=list)
    down: list[Rule] = field(default_factory=list)
    fills: list[tuple[float, float, float, float]] = field(default_factory=list)

    def rules_off(self, top: float, bottom: float, left: float, right: float) -> bool:
        """Whether lines, or edges of fills, run along most of ``left`` to ``right`` between two
        heights; those that continue one another, cell by cell, count together.
        """
        spans = [(rule.start, rule.end) for rule in self.across if top <= rule.at <= bottom]
        spans += [
            (box[0], box[2]) for box in self.fills for edge in box[1::2] if top <= edge <= bottom
        ]
        covered, done = 0.0, left
        for start, end in sorted(spans):
            covered += max(min(end, right) - max(start, done), 0.0)
            done = max(done, end)
        return covered > _MOST_OF_ROW * (right - left)


def drawn_on(page: PdfPage, turn: Turn) -> Drawn:
    """Return the lines and fills of a page, in the coordinates of its words."""
    from pypdfium2 import raw

    drawn = Drawn()
    count = raw.FPDFPage_CountObjects(page.raw)
    if count <= _MOST_OBJECTS:
        for index in range(count):
            _add(raw.FPDFPage_GetObject(page.raw, index), _PLAIN, drawn, turn)
    return drawn


def _add(thing: Any, outer: _Matrix, drawn: Drawn, turn: Turn, depth: int = 0) -> None:
    from pypdfium2 import raw

    kind = raw.FPDFPageObj_GetType(thing)
    if kind == _PATH:
        matrix = _product(_matrix(thing), outer)
        for left, bottom, right, top in _boxes(thing, matrix):
            _sort(turn.box(left, top, right, bottom), drawn, turn)
    elif kind == _FORM and depth < 2:
        matrix = _product(_matrix(thing), outer)
        for index in range(min(raw.FPDFFormObj_CountObjects(thing), _MOST_OBJECTS)):
            _add(raw.FPDFFormObj_GetObject(thing, index), matrix, drawn, turn, depth + 1)


def _sort(box: tuple[float, float, float, float], drawn: Drawn, turn: Turn) -> None:
    left, top, right, bottom = box
    wide, high = right - left, bottom - top
    if high <= _THIN and wide > _SHORTEST:
        drawn.across.append(Rule(left, right, (top + bottom) / 2))
    elif wide <= _THIN and high > _SHORTEST / 2:
        drawn.down.append(Rule(top, bottom, (left + right) / 2))
    elif wide * high < _BACKGROUND * turn.width * turn.height and min(wide, high) > _SHORTEST / 2:
        drawn.fills.append((left, top, right, bottom))


def _boxes(path: Any, matrix: _Matrix) -> Iterator[tuple[float, float, float, float]]:
    """Boxes of the straight lines and rectangles of a path; a curved one as a whole is left out."""
    points = list(_runs(path, matrix))
    filled, stroked = _draw_mode(path)
    for run in points:
        xs, ys = [x for x, _ in run], [y for _, y in run]
        whole = min(xs), min(ys), max(xs), max(ys)
        thin = min(whole[2] - whole[0], whole[3] - whole[1]) <= _THIN
        if filled or thin:
            yield whole
        if stroked and not thin:
            for (x, y), (u, v) in itertools.pairwise(run):
                if min(abs(x - u), abs(y - v)) <= _THIN:
                    yield min(x, u), min(y, v), max(x, u), max(y, v)


def _runs(path: Any, matrix: _Matrix) -> Iterator[list[tuple[float, float]]]:
    """The points of each part of a path that is drawn without lifting the pen."""
    from pypdfium2 import raw

    x, y = ctypes.c_float(), ctypes.c_float()
    a, b, c, d, e, f = matrix
    run = list[tuple[float, float]]()
    for index in range(min(raw.FPDFPath_CountSegments(path), _MOST_SEGMENTS)):
        segment = raw.FPDFPath_GetPathSegment(path, index)
        kind = raw.FPDFPathSegment_GetType(segment)
        raw.FPDFPathSegment_GetPoint(segment, x, y)
        point = a * x.value + c * y.value + e, b * x.value + d * y.value + f
        if kind == _MOVE:
            if len(run) > 1:
                yield run
            run = [point]
        elif kind == _LINE:
            run.append(point)
            if raw.FPDFPathSegment_GetClose(segment) and run[0] != point:
                run.append(run[0])
        else:
            return
    if len(run) > 1:
        yield run


def _draw_mode(path: Any) -> tuple[bool, bool]:
    from pypdfium2 import raw

    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    return bool(fill.value), bool(stroke.value)


def _matrix(thing: Any) -> _Matrix:
    from pypdfium2 import raw

    matrix = raw.FS_MATRIX()
    if not raw.FPDFPageObj_GetMatrix(thing, matrix):
        return _PLAIN
    return matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f


def _product(one: _Matrix, two: _Matrix) -> _Matrix:
    """First ``one``, then ``two``."""
    (a, b, c, d, e, f), (p, q, r, s, t, u) = one, two
    return (
        a * p + b * r,
        a * q + b * s,
        c * p + d * r,
        c * q + d * s,
        e * p + f * r + t,
        e * q + f * s + u,
    )
