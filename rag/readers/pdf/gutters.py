"""Columns of prose that a file draws across, line by line, told by the gutters between them."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rag.readers.pdf.drawn import Drawn
from rag.readers.pdf.rows import rows_of
from rag.readers.pdf.words import Word

_LEAST_PIECES = 24  # of a page that may be set in columns
_SPACE = 0.45  # line heights; the white between two columns can be hardly wider
_FREE = 0.12  # share of the usual ink that may stand in a gutter: headings over several columns
_NARROWEST_GUTTER = 0.5  # line heights
_NARROWEST_COLUMN = 9.0  # line heights
_FULL = 0.7  # of a column's width from which on a piece fills its line, as prose does
_MOST_SHORT = 0.5  # share of a column's pieces that may be shorter
_LEAST_CROSSINGS = 0.2  # share of the pieces that follow one of another column
_UP = 1.5  # line heights upwards, as between two cells of a table that is drawn cell by cell
_MOST_UP = 0.2  # share of the crossings that may go up
_MOST_RULES = 2  # across a gutter; with more it is a table


@dataclass(slots=True)
class _Piece:
    """Words that follow one another on a line without a wide gap."""

    words: list[Word]
    left: float
    right: float
    top: float
    bottom: float


def by_column(words: Sequence[Word], drawn: Drawn) -> list[Word]:
    """The words in the order of reading, where prose in columns was drawn across them.

    Everything else stays in the order of the content, which knows better than its places.
    """
    if any(word.leftwards for word in words):
        return list(words)
    pieces = list(_pieces([word for word in words if not word.turned]))
    if len(pieces) < _LEAST_PIECES:
        return list(words)
    height = statistics.median(piece.bottom - piece.top for piece in pieces)
    gutters = _gutters(pieces, height)
    if not gutters or not _is_drawn_across(pieces, gutters, height, drawn):
        return list(words)
    turned = [word for word in words if word.turned]
    return [*_read(pieces, gutters), *turned]


def _pieces(words: Sequence[Word]) -> Iterator[_Piece]:
    piece: _Piece | None = None
    for word in words:
        if piece is not None and _follows(piece, word):
            piece.words.append(word)
            piece.right = max(piece.right, word.right)
            piece.top, piece.bottom = min(piece.top, word.top), max(piece.bottom, word.bottom)
            continue
        if piece is not None:
            yield piece
        piece = _Piece([word], word.left, word.right, word.top, word.bottom)
    if piece is not None:
        yield piece


def _follows(piece: _Piece, word: Word) -> bool:
    level = piece.words[-1].top < word.middle < piece.words[-1].bottom
    return level and -1.0 <= word.left - piece.right <= _SPACE * word.height


def _gutters(pieces: Sequence[_Piece], height: float) -> list[float]:
    """The middle of each white strip down the page; none where the columns are no columns."""
    left, right = min(piece.left for piece in pieces), max(piece.right for piece in pieces)
    ink = np.zeros(int(right - left) + 2)
    for word in (word for piece in pieces for word in piece.words):
        ink[int(word.left - left) : int(word.right - left) + 1] += 1
    free = np.concatenate([[False], ink <= _FREE * np.median(ink[ink > 0]), [False]])
    edges = np.flatnonzero(free[1:] != free[:-1]).reshape(-1, 2)
    strips = [
        left + (first + last) / 2
        for first, last in edges.tolist()
        if first > 0 and last < len(ink) - 1 and last - first >= _NARROWEST_GUTTER * height
    ]
    sides = itertools.pairwise([left, *strips, right])
    wide = all(end - begin >= _NARROWEST_COLUMN * height for begin, end in sides)
    return strips if wide else []


def _is_drawn_across(
    pieces: Sequence[_Piece], gutters: Sequence[float], height: float, drawn: Drawn
) -> bool:
    """Whether lines of prose, not cells of a table, follow those of another column."""
    for gutter in gutters:
        rules = {round(rule.at) for rule in drawn.across if rule.start < gutter < rule.end}
        if len(rules) > _MOST_RULES:
            return False
    inside = [
        (piece, column) for piece in pieces if (column := _column(piece, gutters)) is not None
    ]
    if not _is_prose(inside, len(gutters) + 1):
        return False
    crossings = [
        one.top - other.bottom > (_UP - 1) * height
        for (one, before), (other, column) in itertools.pairwise(inside)
        if before != column
    ]
    enough = len(crossings) >= _LEAST_CROSSINGS * len(pieces)
    return enough and sum(crossings) <= _MOST_UP * len(crossings)


def _is_prose(inside: Sequence[tuple[_Piece, int]], columns: int) -> bool:
    """Whether most lines of each column, but for short last ones, are as wide as it is."""
    full = 0
    for column in range(columns):
        column_pieces = [piece for piece, at in inside if at == column]
        if len(column_pieces) < _LEAST_PIECES / 3:
            continue
        width = max(piece.right for piece in column_pieces) - min(
            piece.left for piece in column_pieces
        )
        short = sum(piece.right - piece.left < _FULL * width for piece in column_pieces)
        if short > _MOST_SHORT * len(column_pieces):
            return False
        full += 1
    return full >= 2


def _column(piece: _Piece, gutters: Sequence[float]) -> int | None:
    """The column that holds a piece, None for one over several."""
    first = sum(gutter <= piece.left for gutter in gutters)
    return first if first == sum(gutter < piece.right for gutter in gutters) else None


def _read(pieces: Sequence[_Piece], gutters: Sequence[float]) -> Iterator[Word]:
    """Column by column, between what stands over several of them."""
    over = sorted(
        (piece for piece in pieces if _column(piece, gutters) is None), key=lambda piece: piece.top
    )
    words: dict[tuple[int, int], list[Word]] = {}
    for piece in pieces:
        column = _column(piece, gutters)
        if column is not None:
            middle = (piece.top + piece.bottom) / 2
            band = sum((piece.top + piece.bottom) / 2 < middle for piece in over)
            words.setdefault((band, column), []).extend(piece.words)
    for band in range(len(over) + 1):
        for column in range(len(gutters) + 1):
            for row in rows_of(words.get((band, column), ()), gap=1e9):
                yield from row.words
        if band < len(over):
            yield from over[band].words
