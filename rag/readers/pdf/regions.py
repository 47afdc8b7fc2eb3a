"""Detection of tables on a page: runs of rows that are cut into aligned cells."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence

from rag.readers.pdf.drawn import Drawn
from rag.readers.pdf.rows import Row, is_figure, rows_of
from rag.readers.pdf.words import Word
from rag.types import Span

_NEW_COLUMN = 4.0  # line heights that the content jumps up by to begin another column
_WIDEST_STEP = 2.6  # line heights between two rows of a table
_MOST_SINGLE = 3  # rows of one segment between two of several
_WIDE, _LONG = 0.62, 70  # a row this wide (share of the column) and long is prose
_SIDE = 18  # characters from which on a segment may be a line of a column of prose
_GRAIN = 4.0  # points within which cells are aligned
_HEADING = 1.15  # of the height of a table's letters from which on a line is a heading
_BULLET = re.compile(r"[•●▪◦‣–\-*o\uf0b7]|\(?[0-9a-zA-Z]{1,3}[.)]")
_LEADER = re.compile(r"\.{4,}|(?:\. ){4,}")
_SHORT_LINE = 26


def flows(words: Sequence[Word]) -> list[list[Word]]:
    """Columns of a page: runs of words in the order of content that do not jump up far.

    A table that was written column by column is one flow.
    """
    runs = list[list[Word]]()
    for word in words:
        last = runs[-1][-1] if runs else None
        if last is None or last.top - word.bottom > _NEW_COLUMN * max(last.height, word.height):
            runs.append([word])
        else:
            runs[-1].append(word)
    merged = list[list[Word]]()
    for flow in runs:
        if merged and _is_column_of_figures(merged[-1], flow):
            merged[-1] = merged[-1] + flow
        else:
            merged.append(flow)
    return merged


def _is_column_of_figures(before: Sequence[Word], flow: Sequence[Word]) -> bool:
    """Whether a flow is short figures on the baselines of the one before, so prose is safe."""
    if len(flow) < 3:
        return False
    column = rows_of(flow, gap=1e9)
    if len(column) < 3 or statistics.median(len(row.text) for row in column) >= _SHORT_LINE:
        return False
    if sum(is_figure(row.text) for row in column) < 0.4 * len(column):
        return False
    top, bottom = column[0].top - 2, column[-1].bottom + 2
    beside = [row for row in rows_of(before, gap=1e9) if row.top >= top and row.bottom <= bottom]
    level = sum(any(_are_level(row, other) for other in beside) for row in column)
    return level >= 0.8 * len(column) and len(beside) >= 3


def _are_level(one: Row, other: Row) -> bool:
    return abs(one.top + one.bottom - other.top - other.bottom) < 0.6 * one.height


def regions(rows: Sequence[Row], drawn: Drawn) -> Iterator[Span]:
    """First and last row (inclusive) of each run that is a table."""
    width = max(row.right for row in rows) - min(row.left for row in rows)
    for first, last in _candidates(rows, drawn, max(width, 1.0)):
        if _is_table(rows[first : last + 1], drawn, width):
            yield first, last


def _candidates(rows: Sequence[Row], drawn: Drawn, width: float) -> Iterator[Span]:
    """Runs of rows of several segments, with a few of one between them."""
    lines = [_lines_at(row, drawn) for row in rows]
    first = 0
    while first < len(rows):
        if not _is_cut(rows[first]):
            first += 1
            continue
        last, single, within = first, 0, lines[first]
        for index in range(first + 1, len(rows)):
            row, before = rows[index], rows[index - 1]
            if row.top - before.bottom > _WIDEST_STEP * max(row.height, before.height):
                break
            if within and len(lines[index] & within) < len(within) / 2:
                break  # out of the lines, or among those of another table
            if _is_cut(row):
                last, single = index, 0
                within = within or lines[index]
                continue
            single += 1
            heading = row.height > _HEADING * rows[last].height
            if single > _MOST_SINGLE or heading or _is_prose(row, width):
                break
        yield first, last
        first = last + 1


def _is_cut(row: Row) -> bool:
    """Whether a row is of several segments, other than a bullet or a number before its text."""
    several = len(row.segments) >= 2
    return several and not (len(row.segments) == 2 and _BULLET.fullmatch(row.segments[0].text))


def _lines_at(row: Row, drawn: Drawn) -> frozenset[int]:
    """Return the positions, in units of ``_GRAIN``, of the vertical lines that cross a row."""
    middle = (row.top + row.bottom) / 2
    return frozenset(
        round(rule.at / _GRAIN) for rule in drawn.down if rule.start <= middle <= rule.end
    )


def _is_prose(row: Row, width: float) -> bool:
    return row.right - row.left > _WIDE * width and len(row.text) > _LONG


def _is_table(rows: Sequence[Row], drawn: Drawn, width: float) -> bool:
    several = [row for row in rows if len(row.segments) >= 2]
    if _are_contents(several):
        return False
    numeric = sum(_has_figures(row) for row in several)
    ruled = _is_ruled(rows, drawn, width)
    if _are_columns_of_prose(several) and numeric < 0.25 * len(several) and not ruled:
        return False
    aligned = _aligned(several)
    if len(several) >= 3 and numeric >= 0.5 * len(several) and aligned >= 0.5:
        return True
    if len(several) >= 2 and ruled and aligned >= 0.5:
        return True
    longest = statistics.median(max(len(s.text) for s in row.segments) for row in several)
    shortest = statistics.mean(min(len(s.text) for s in row.segments) for row in several)
    return len(several) >= 4 and aligned >= 0.75 and shortest < 22 and longest < 60


def _are_contents(rows: Sequence[Row]) -> bool:
    """A table of contents: leaders, or titles before numbers of pages that never fall."""
    if sum(bool(_LEADER.search(row.text)) for row in rows) > 1:
        return True
    last = [row.segments[-1].text for row in rows if len(row.segments) == 2]
    pages = [int(text) for text in last if text.isdecimal() and len(text) <= 4]
    rising = pages == sorted(pages) and len(set(pages)) > len(pages) / 2
    return len(pages) >= max(3, 0.8 * len(rows)) and rising


def _are_columns_of_prose(rows: Sequence[Row]) -> bool:
    both_long = sum(
        len(row.segments) == 2 and min(len(s.text) for s in row.segments) >= _SIDE for row in rows
    )
    return both_long >= 0.5 * len(rows)


def _has_figures(row: Row) -> bool:
    rest = row.segments[1:]
    return sum(is_figure(segment.text) for segment in rest) >= max(1, len(rest) * 0.5)


def _is_ruled(rows: Sequence[Row], drawn: Drawn, width: float) -> bool:
    top, bottom = rows[0].top - 6, rows[-1].bottom + 6
    across = {
        round(rule.at)
        for rule in drawn.across
        if top <= rule.at <= bottom and rule.end - rule.start > 0.25 * width
    }
    down = {
        round(rule.at)
        for rule in drawn.down
        if rule.end > top + 6 and rule.start < bottom - 6 and rule.end - rule.start > 6
    }
    fills = sum(box[1] >= top and box[3] <= bottom for box in drawn.fills)
    return len(down) >= 2 or len(across) >= 3 or fills >= 2


def _aligned(rows: Sequence[Row]) -> float:
    """Share of the cells behind the first that begin, or end, at one of a few places."""
    cells = [segment for row in rows for segment in row.segments[1:]]
    shares = []
    for places in (
        Counter(round(cell.left / _GRAIN) for cell in cells),
        Counter(round(cell.right / _GRAIN) for cell in cells),
    ):
        shares.append(sum(count for _, count in places.most_common(6)))
    return max(shares) / max(1, len(cells))
