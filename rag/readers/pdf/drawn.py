"""Lines and fills that are drawn on a PDF page: what rules off the rows and columns of tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rag.readers.characters import is_script
from rag.readers.pdf.words import Word
from rag.types import Floats, Mask

_COVERED = 0.6  # of a word's width and height: of the ink, its box is higher
_MOST_OF_ROW = 0.45  # of a row's width that lines between two rows run along
_BAND = 16.0  # points of a page's height whose words are looked at together
_THROUGH = (0.42, 0.7)  # shares of a word's height: the middle of small letters
_OVERSHOT = 2.5  # points from the end of a line to that of the words that it strikes
_BLANK = 0.4  # of a word's height: the blank behind the last of them is struck, or a comma not
Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line from ``start`` to ``end`` at a height (or a column, where it stands), in points."""

    start: float
    end: float
    at: float


@dataclass(frozen=True, slots=True)
class Drawn:
    """Lines across, lines down, and filled boxes (left, top, right, bottom).

    ``alone`` are lines across that are no edge of a box. ``covers`` are opaque boxes that are drawn
    after the first text, ``texts`` the boxes of texts, each with its place in the order of drawing;
    texts are known only where something may cover one. ``unseen`` are boxes of white on white.
    """

    across: list[Rule] = field(default_factory=list)
    alone: list[Rule] = field(default_factory=list)
    down: list[Rule] = field(default_factory=list)
    fills: list[Box] = field(default_factory=list)
    covers: list[tuple[int, Box]] = field(default_factory=list)
    texts: list[tuple[int, Box]] = field(default_factory=list)
    unseen: list[Box] = field(default_factory=list)

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

    def hidden(self, words: Sequence[Word]) -> set[int]:
        """Return the places of words that an opaque box was drawn over: nobody sees them."""
        hidden = set[int]()
        if not self.covers or not words:
            return hidden
        x = np.array([(word.left + word.right) / 2 for word in words])
        y = np.array([word.middle for word in words])
        covers = _around(self.covers, x, y)
        at_cover = np.flatnonzero(covers.any(axis=1))
        texts = _around(self.texts, x[at_cover], y[at_cover])
        for word_at, at in enumerate(at_cover.tolist()):
            word = words[at]
            places = np.flatnonzero(covers[at]).tolist()
            over = [
                self.covers[place][0] for place in places if _holds(self.covers[place][1], word)
            ]
            drawn = np.flatnonzero(texts[word_at])  # in the order of drawing
            if over and len(drawn) and over[-1] > self.texts[drawn[-1]][0]:
                hidden.add(word.place)
        return hidden

    def is_unseen(self, word: Word) -> bool:
        """Whether a word is written in white on white."""
        x, y = (word.left + word.right) / 2, word.middle
        return any(_is_inside(x, y, box) for box in self.unseen)

    def struck(self, words: Sequence[Word]) -> set[int]:
        """Return the places of words that a line strikes: it runs through their middle, from where
        one of them begins to where one ends."""
        struck, near = set[int](), defaultdict[int, list[Word]](list)
        for word in words if self.alone else ():
            for band in range(int(word.top // _BAND), int(word.bottom // _BAND) + 1):
                near[band].append(word)
        for rule in _joined(self.alone):
            crossed = [
                word
                for word in near.get(int(rule.at // _BAND), ())
                if word.left < rule.end - 1 and word.right > rule.start + 1
                if word.top + _THROUGH[0] * word.height < rule.at
                if rule.at < word.top + _THROUGH[1] * word.height
                if not is_script(word.text[0])  # its box is that of the letters beside it
            ]
            if not any(map(str.isalnum, "".join(word.text for word in crossed))):
                continue
            before = abs(min(word.left for word in crossed) - rule.start)
            behind = abs(rule.end - max(word.right for word in crossed))
            if before <= _OVERSHOT and behind <= max(_OVERSHOT, _BLANK * crossed[-1].height):
                struck.update(word.place for word in crossed)
        return struck


def _joined(rules: list[Rule]) -> list[Rule]:
    """Lines across, of which those that continue one another are one."""
    joined = list[Rule]()
    for rule in sorted(rules, key=lambda rule: (rule.at, rule.start)):
        last = joined[-1] if joined else None
        if last and rule.at - last.at < 1 and -1 < rule.start - last.end < 1:
            joined[-1] = Rule(last.start, rule.end, rule.at)
        else:
            joined.append(rule)
    return joined


def _around(boxes: Sequence[tuple[int, Box]], x: Floats, y: Floats) -> Mask:
    """Whether each of n points is in each of m boxes, shape (n, m)."""
    left, top, right, bottom = np.array([box for _, box in boxes]).reshape(-1, 4).T
    x, y = x[:, None], y[:, None]
    inside: Mask = (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
    return inside


def _is_inside(x: float, y: float, box: Box) -> bool:
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _holds(box: Box, word: Word) -> bool:
    wide = min(box[2], word.right) - max(box[0], word.left)
    high = min(box[3], word.bottom) - max(box[1], word.top)
    return wide >= _COVERED * (word.right - word.left) and high >= _COVERED * word.height
