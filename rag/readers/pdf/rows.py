"""Words of a page as rows that share a baseline, each cut into segments at wide gaps."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.readers.pdf.words import Word
from rag.readers.tables import YEAR

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
