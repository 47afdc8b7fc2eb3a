"""Lines and fills of a PDF page, from the objects that pdfium reports."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pypdfium2 import raw

from rag.readers.pdf.drawn import Box, Drawn, Rule
from rag.readers.pdf.words import Turn, turn_of

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

_TEXT, _PATH, _FORM = 1, 2, 5  # FPDF_PAGEOBJ_TEXT, _PATH and _FORM of fpdf_edit.h
_OPAQUE = 255
_MOVE, _LINE = 2, 0  # FPDF_SEGMENT_MOVETO, FPDF_SEGMENT_LINETO of fpdfview.h
_MOST_OBJECTS = 4000  # of a page: a map or a plot is no table
_MOST_SEGMENTS = 400  # of a path
_THIN = 2.5  # points; what is thicker is a fill
_SHORTEST = 6.0
_MOST_PIXELS = 4_000_000  # of the picture of a page: a sheet of A1
_PAPER = 245  # the grey, of 255, that is as good as white
_LEAST_INK = 0.03  # share of the box of a text that shows: letters have a tenth and more
_BACKGROUND = 0.6  # share of the page from which on a fill is its background
_Matrix = tuple[float, float, float, float, float, float]
_PLAIN: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def drawn_on(page: PdfPage, turn: Turn) -> Drawn:
    """Return the lines and fills of a page, in the coordinates of its words."""
    drawn = Drawn()
    count = raw.FPDFPage_CountObjects(page.raw)
    if count > _MOST_OBJECTS:
        return drawn
    texts = list[tuple[int, Any]]()
    for index in range(count):
        thing = raw.FPDFPage_GetObject(page.raw, index)
        kind = raw.FPDFPageObj_GetType(thing)
        if kind == _TEXT:
            texts.append((index, thing))
        elif texts and kind == _PATH and _is_opaque_box(thing):
            drawn.covers.append((index, _bounds(thing, turn)))
        if kind != _TEXT:
            _add(thing, _PLAIN, drawn, turn)
    if drawn.covers:
        drawn.texts.extend((index, _bounds(thing, turn)) for index, thing in texts)
    white = [thing for _, thing in texts if _is_white(thing)]
    drawn.unseen.extend(_bounds(thing, turn) for thing in _unseen(page, white))
    return drawn


_Colour = tuple[ctypes.c_uint, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint]


def _fill_of(thing: Any) -> tuple[int, int, int, int] | None:
    """Red, green, blue and alpha; None for what has no such colour, as a picture."""
    colour: _Colour = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    if not raw.FPDFPageObj_GetFillColor(thing, *colour):
        return None
    red, green, blue, alpha = (part.value for part in colour)
    return red, green, blue, alpha


def _unseen(page: PdfPage, white: Sequence[Any]) -> Iterator[Any]:
    """Yield the texts of which nothing shows: pdfium calls patterns and gradients white, too."""
    if not white:
        return
    width, height = page.get_size()
    scale = min(1.0, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
    picture, turn = page.render(scale=scale, grayscale=True).to_numpy(), turn_of(page)
    for thing in white:
        left, top, right, bottom = (round(scale * edge) for edge in _bounds(thing, turn))
        ink = picture[max(top, 0) : bottom + 1, max(left, 0) : right + 1] < _PAPER
        if ink.size and ink.mean() < _LEAST_INK:
            yield thing


def _is_white(thing: Any) -> bool:
    return _fill_of(thing) == (255, 255, 255, _OPAQUE)


def _is_opaque_box(thing: Any) -> bool:
    if raw.FPDFPath_CountSegments(thing) not in range(4, 7) or not _draw_mode(thing)[0]:
        return False
    runs = list(_runs(thing, _PLAIN))
    return bool(
        len(runs) == 1
        and len(runs[0]) in (4, 5)
        and all(x == u or y == v for (x, y), (u, v) in itertools.pairwise(runs[0]))
        and (_fill_of(thing) or (0,))[-1] == _OPAQUE
        and not raw.FPDFPageObj_HasTransparency(thing)
    )


def _bounds(thing: Any, turn: Turn) -> Box:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    raw.FPDFPageObj_GetBounds(thing, left, bottom, right, top)
    return turn.box(left.value, top.value, right.value, bottom.value)


def _add(thing: Any, outer: _Matrix, drawn: Drawn, turn: Turn, depth: int = 0) -> None:
    kind = raw.FPDFPageObj_GetType(thing)
    if kind == _PATH:
        matrix = _product(_matrix(thing), outer)
        for alone, (left, bottom, right, top) in _boxes(thing, matrix):
            _sort(turn.box(left, top, right, bottom), drawn, turn, alone=alone)
    elif kind == _FORM and depth < 2:
        matrix = _product(_matrix(thing), outer)
        for index in range(min(raw.FPDFFormObj_CountObjects(thing), _MOST_OBJECTS)):
            _add(raw.FPDFFormObj_GetObject(thing, index), matrix, drawn, turn, depth + 1)


def _sort(box: Box, drawn: Drawn, turn: Turn, *, alone: bool) -> None:
    left, top, right, bottom = box
    wide, high = right - left, bottom - top
    if high <= _THIN and wide > _SHORTEST:
        drawn.across.append(Rule(left, right, (top + bottom) / 2))
        drawn.alone.extend(drawn.across[-1:] if alone else ())
    elif wide <= _THIN and high > _SHORTEST / 2:
        drawn.down.append(Rule(top, bottom, (left + right) / 2))
    elif wide * high < _BACKGROUND * turn.width * turn.height and min(wide, high) > _SHORTEST / 2:
        drawn.fills.append((left, top, right, bottom))


def _boxes(path: Any, matrix: _Matrix) -> Iterator[tuple[bool, Box]]:
    """Boxes of the straight lines and rectangles of a path; a curved one as a whole is left out.

    With each, whether it is no edge of another one.
    """
    points = list(_runs(path, matrix))
    filled, stroked = _draw_mode(path)
    for run in points:
        xs, ys = [x for x, _ in run], [y for _, y in run]
        whole = min(xs), min(ys), max(xs), max(ys)
        thin = min(whole[2] - whole[0], whole[3] - whole[1]) <= _THIN
        if filled or thin:
            yield True, whole
        if stroked and not thin:
            for (x, y), (u, v) in itertools.pairwise(run):
                if min(abs(x - u), abs(y - v)) <= _THIN:
                    yield False, (min(x, u), min(y, v), max(x, u), max(y, v))


def _runs(path: Any, matrix: _Matrix) -> Iterator[list[tuple[float, float]]]:
    """The points of each part of a path that is drawn without lifting the pen."""
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
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    raw.FPDFPath_GetDrawMode(path, fill, stroke)
    return bool(fill.value), bool(stroke.value)


def _matrix(thing: Any) -> _Matrix:
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
