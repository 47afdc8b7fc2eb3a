"""Words of a page as rows that share a baseline, and the runs of rows that are tables."""

from __future__ import annotations

import re
import statistics
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rag.readers.pdf.drawn import Drawn
from rag.readers.pdf.words import Word
from rag.readers.tables import YEAR
from rag.types import Span

# Ligatures and the positional forms of Hebrew and Arabic: shapes of letters, not letters.
_SHAPES = re.compile("[\ufb00-\ufdff\ufe70-\ufefc]")
_HYPHENATED = re.compile(r"([^\W\d_])[-\u2010\u00ad][ \t]*\r?\n([^\W\d_])")


def clean_page(text: str) -> str:
    """Join words hyphenated at line ends, resolve ligatures, drop spaces at line ends.

    Words otherwise stay as they are on the page, so that passages can be found there again.
    """
    # pdfium marks a hyphen that it took for a soft one with U+FFFE.
    letters = _SHAPES.sub(lambda shape: unicodedata.normalize("NFKC", shape.group()), text)
    joined = re.sub("\ufffe\\s*", "", letters)
    joined = _HYPHENATED.sub(_join_halves, joined).replace("\u00ad", "")
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"(?<![ \t])[ \t]++(?=\r?\n)", "", joined))


def joined_lines(one: str, other: str) -> str:
    """Two lines of a cell as one, a word that was hyphenated between them whole."""
    if not one or not other:
        return one or other
    return _HYPHENATED.sub(_join_halves, f"{one}\n{other}").replace("\n", " ")


def _join_halves(match: re.Match[str]) -> str:
    before, after = match.groups()
    # "Anglo-\nSaxon" and "GPT-\nNeo" keep their hyphen, "infor-\nmation" loses it.
    return f"{before}{after}" if after.islower() else f"{before}-{after}"


_CELL_GAP = 1.0  # em between two cells; the spaces within one are narrower
EM = 0.82  # of the height of a line, as fonts report it
_SHARED = 0.55  # of the lower one's height that two words of a row share
_ROWS_BACK = 4  # a word joins one of the last rows only
_UNIT = re.compile(r"[)%]+|%\)|\)%|pts?|bps")
_OPENING = re.compile(r"[$€£¥(]+")
_FIGURE = re.compile(
    r"[(\[$€£¥+\-–—−±~<>≤≥]*\s*\d[\d,.'\s]*+\)?\s*+[%x]?[)\]]?\*{0,3}|[-–—−]+"
    r"|\(?[+\-–−]?\d[\d,.]*\)?\s*(?:bps|pts?|%|bn|m|k)|n/?m|n/?a|\*"
    r"|\d[\d,.]*\s*(?:±|\+/-)\s*\d[\d,.]*",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Segment:
    """Words of a row without a wide gap between them, from left to right."""

    words: list[Word]

    @property
    def left(self) -> float:
        """The left edge, in points."""
        return min(word.left for word in self.words)

    @property
    def right(self) -> float:
        """The right edge, in points."""
        return max(word.right for word in self.words)

    @property
    def text(self) -> str:
        """Its words, in the order of reading."""
        return text_of(self.words)


@dataclass(slots=True)
class Row:
    """Segments from left to right, between ``top`` and ``bottom``; ``height`` is of its font."""

    segments: list[Segment]
    top: float
    bottom: float
    height: float

    @property
    def words(self) -> list[Word]:
        """All of its words."""
        return [word for segment in self.segments for word in segment.words]

    @property
    def text(self) -> str:
        """All of its words as text."""
        return " ".join(segment.text for segment in self.segments)

    @property
    def left(self) -> float:
        """The left edge, in points."""
        return self.segments[0].left

    @property
    def right(self) -> float:
        """The right edge, in points."""
        return max(segment.right for segment in self.segments)


@dataclass(slots=True)
class _Open:
    words: list[Word]
    top: float
    bottom: float


def rows_of(words: Iterable[Word], gap: float = _CELL_GAP) -> list[Row]:
    """Rows from top to bottom; ``gap`` (em) parts segments."""
    rows = list[_Open]()
    for word in sorted(words, key=lambda item: (item.middle, item.left)):
        best, top, bottom = None, word.top, word.bottom
        height = bottom - top
        for row in rows[-_ROWS_BACK:]:
            # compared by hand: this is asked for every word of a page, many times
            above, below = row.top, row.bottom
            shared = (bottom if bottom < below else below) - (top if top > above else above)
            if shared > 0 and shared > _SHARED * min(height, below - above):
                best = row
        if best is None:
            rows.append(_Open([word], top, bottom))
            continue
        best.words.append(word)
        if height >= 0.7 * (best.bottom - best.top):  # raised figures do not move the row
            many = len(best.words)
            best.top += (top - best.top) / many
            best.bottom += (bottom - best.bottom) / many
    return sorted((_cut(row, gap) for row in rows), key=lambda row: row.top)


def _cut(row: _Open, gap: float) -> Row:
    words = sorted(row.words, key=lambda word: word.left)
    height = statistics.median(word.height for word in words)
    parts = [[words[0]]]
    right = words[0].right
    for word in words[1:]:
        if word.left - right > gap * EM * height:
            parts.append([word])
        else:
            parts[-1].append(word)
        right = max(right, word.right)
    segments = list[Segment]()
    for part in parts:
        if segments and _belongs(segments[-1], part):
            segments[-1].words += part
        else:
            segments.append(Segment(part))
    return Row(segments, row.top, row.bottom, height)


def _belongs(segment: Segment, part: Sequence[Word]) -> bool:
    """Whether a unit stands behind its number, or a number behind its currency or bracket."""
    unit = _UNIT.fullmatch(" ".join(word.text for word in part))
    return unit is not None or _OPENING.fullmatch(segment.text) is not None


def text_of(words: Sequence[Word]) -> str:
    """Words as text; those of scripts from right to left in the order of the page's content."""
    if any(word.leftwards for word in words):
        words = sorted(words, key=lambda word: word.place)
    text = " ".join(word.text for word in words)
    return re.sub(r"([$€£¥(])\s+(?=[\d(])", r"\1", text).replace(" )", ")")


def is_figure(text: str) -> bool:
    """Whether a cell holds a number, an amount, a share, or a sign for none of these."""
    bare = text.replace("$", "").replace("€", "").strip()
    return bool(bare) and _FIGURE.fullmatch(bare) is not None


def is_year(text: str) -> bool:
    """Whether a cell holds a year, which names a column more often than it is data."""
    return YEAR.fullmatch(text.strip()) is not None


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
    ruled = len(down) >= 2 or len(across) >= 3 or fills >= 2
    if _are_columns_of_prose(several) and numeric < 0.25 * len(several) and not ruled:
        return False
    # Share of the cells behind the first that begin, or end, at one of a few places
    cells = [segment for row in several for segment in row.segments[1:]]
    shares = []
    for places in (
        Counter(round(cell.left / _GRAIN) for cell in cells),
        Counter(round(cell.right / _GRAIN) for cell in cells),
    ):
        shares.append(sum(count for _, count in places.most_common(6)))
    aligned = max(shares) / max(1, len(cells))
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
