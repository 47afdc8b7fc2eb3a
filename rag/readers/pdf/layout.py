"""A page as lines, column by column in the order of its content, its tables as rows of cells."""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.readers.pdf.drawn import Drawn
from rag.readers.pdf.grids import FoundTable, found_table, grown
from rag.readers.pdf.rows import flows, regions, rows_of, text_of
from rag.readers.pdf.words import Word
from rag.readers.tables import caption

_LEAST_WORDS = 6  # of a flow that may hold a table
_ON_LINE = 0.4  # of the lower one's height that two words of a line share
_BACK = 2.0  # points that a word may begin before the one it follows
_PARAGRAPH = 0.45  # line heights between two paragraphs
_UP = 3.0  # line heights upwards to another column
_OTHER_SIZE = 0.18  # by how much a heading's letters differ in height
_MOST_CAPTION_LINES = 4
_LONGEST_CAPTION_LINE = 100
_NAMED = re.compile(r"(?:table|tab\.|tabelle|tableau|tabla)\s*[\dIVX]", re.IGNORECASE)
_LONG_SENTENCE = 40
_LONGEST_ANNOUNCEMENT = 300


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table with the lines above it that are its caption, or a ``title`` from elsewhere."""

    caption: tuple[str, ...]
    table: FoundTable
    title: str = ""

    def continues(self, before: PageTable) -> bool:
        """Whether it goes on with the table at the end of the page before."""
        return not self.caption and self.table.continues(before.table)

    def is_part_of(self, before: PageTable) -> bool:
        """Whether it goes on with a table before it on the page, behind the title of a group."""
        named = _NAMED.search(" ".join(self.caption))
        return named is None and self.table.is_part_of(before.table)

    def under(self, before: PageTable) -> PageTable:
        """The table under the labels and the title of the one that it goes on with."""
        table = replace(self.table, labels=before.table.column_labels)
        title = "" if self.caption else caption(before.caption) or before.title
        return replace(self, table=table, title=title)


@dataclass(slots=True)
class _Line:
    words: list[Word]
    text: str

    @property
    def height(self) -> float:
        return self.words[-1].height


_Block = _Line | FoundTable


def page_blocks(words: Sequence[Word], drawn: Drawn) -> list[str | PageTable]:
    """Paragraphs (lines parted by single line ends) and tables, in the order of the content.

    Columns of prose that are drawn across are read one after the other.
    """
    blocks = list(_blocks(by_column(words, drawn), drawn))
    gaps = [
        gap
        for one, other in itertools.pairwise(blocks)
        if isinstance(one, _Line) and isinstance(other, _Line)
        if 0 <= (gap := other.words[0].top - one.words[-1].bottom) < _UP * one.height
    ]
    usual = statistics.median(gaps) if len(gaps) >= 4 else 0.0
    done: list[str | PageTable] = []
    paragraph = list[str]()
    before: _Block | None = None
    for block in blocks:
        if isinstance(block, FoundTable):
            if paragraph:
                done.append("\n".join(paragraph))
            paragraph = []
            done.append(PageTable(tuple(_taken_caption(done)), block))
        else:
            if paragraph and isinstance(before, _Line) and _is_new(before, block, usual):
                done.append("\n".join(paragraph))
                paragraph = []
            paragraph.append(block.text)
        before = block
    if paragraph:
        done.append("\n".join(paragraph))
    return done


def _blocks(words: Sequence[Word], drawn: Drawn) -> Iterator[_Block]:
    tables, of_word = list[FoundTable](), dict[int, int]()
    for flow in flows([word for word in words if not word.turned]):
        if len(flow) < _LEAST_WORDS:
            continue
        rows = rows_of(flow)
        done = -1
        for first, last in regions(rows, drawn):
            first, last = grown(rows, first, last, drawn)
            first = max(first, done + 1)
            table = found_table(rows[first : last + 1], drawn) if last > first else None
            if table is not None:
                of_word.update(
                    (word.place, len(tables))
                    for row in rows[first : last + 1]
                    for word in row.words
                )
                tables.append(table)
                done = last
    line, placed = list[Word](), set[int]()
    for word in words:
        index = of_word.get(word.place)
        if line and (index is not None or not _goes_on(line, word)):
            yield _Line(line, text_of(line))
            line = []
        if index is None:
            line.append(word)
        elif index not in placed:
            placed.add(index)
            yield tables[index]
    if line:
        yield _Line(line, text_of(line))


def _goes_on(line: Sequence[Word], word: Word) -> bool:
    """Whether a word stands on the line of those before it, and behind them."""
    last = line[-1]
    if word.turned != last.turned:
        return False
    if word.turned:
        return True
    shared = min(last.bottom, word.bottom) - max(last.top, word.top)
    if shared <= _ON_LINE * min(last.height, word.height):
        return False
    return word.left >= last.left - _BACK or word.leftwards or last.leftwards


def _is_new(before: _Line, line: _Line, usual: float) -> bool:
    """Whether a line begins a paragraph: after white, higher up, or in another size."""
    gap, height = line.words[0].top - before.words[-1].bottom, before.height
    return (
        gap > max(_PARAGRAPH * height, 1.5 * usual + 0.1 * height)
        or gap < -_UP * height
        or abs(line.words[0].height - height) > _OTHER_SIZE * height
    )


def _taken_caption(done: list[str | PageTable]) -> list[str]:
    """Take short paragraphs from the end of what is done that stand over a table: its title, or
    what announces it. Running text stays."""
    title = list[str]()
    while done and isinstance(paragraph := done[-1], str):
        lines = paragraph.split("\n")
        if len(title) + len(lines) > _MOST_CAPTION_LINES or not _is_title(paragraph):
            break
        title = lines + title
        done.pop()
    if not title and done and isinstance(text := done[-1], str) and _announces(text):
        title = text.split("\n")
        done.pop()
    return title


def _is_title(paragraph: str) -> bool:
    """Lines that are short and no sentence; one that names itself a table's may be longer."""
    if _NAMED.match(paragraph):
        return len(paragraph) <= _LONGEST_ANNOUNCEMENT
    short = all(len(line) <= _LONGEST_CAPTION_LINE for line in paragraph.split("\n"))
    sentence = paragraph.endswith((".", ",", ";")) and len(paragraph) > _LONG_SENTENCE
    return short and not sentence and not paragraph[:1].islower()


def _announces(paragraph: str) -> bool:
    return len(paragraph) <= _LONGEST_ANNOUNCEMENT and paragraph.rstrip().endswith(":")


_LEAST_PIECES = 24  # of a page that may be set in columns
_SPACE = 0.45  # line heights; the white between two columns can be hardly wider
_FREE = 0.12  # share of the usual ink that may stand in a gutter: headings over several columns
_NARROWEST_GUTTER = 0.5  # line heights
_NARROWEST_COLUMN = 9.0  # line heights
_FULL = 0.7  # of a column's width from which on a piece fills its line, as prose does
_MOST_SHORT = 0.5  # share of a column's pieces that may be shorter
_LEAST_CROSSINGS = 0.2  # share of the pieces that follow one of another column
_JUMP = 1.5  # line heights upwards, as between two cells of a table that is drawn cell by cell
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
        one.top - other.bottom > (_JUMP - 1) * height
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
