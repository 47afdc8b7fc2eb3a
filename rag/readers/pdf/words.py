"""The words of a PDF page with their places, from the characters that pdfium reports."""

from __future__ import annotations

import ctypes
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag.readers.characters import lowered, raised
from rag.types import Floats, Integers, Mask

if TYPE_CHECKING:
    from pypdfium2 import PdfPage, PdfTextPage

_FINE = 1_000_000  # the size of the device that places are asked for: pdfium rounds to whole units
_BREAKS = (10, 13)
_BLANKS = (0, 9, 10, 11, 12, 13, 32, 0xA0, 0x2028, 0x2029, 0x3000, *range(0x2000, 0x200C))
_LEFTWARDS = range(0x590, 0x900)  # Hebrew, Arabic, Syriac and others
_HYPHENS = (0x2, 0xFFFE)  # how pdfium marks a hyphen at the end of a line
_MOST_CHARACTERS = 200_000  # of a page
_WIDEST_GAP = 0.6  # line heights between two letters of one word
_SAME_LINE = 0.6  # line heights between the middles of two letters of one word
_SAME_PLACE = 0.25  # line heights between a letter and its shadow
_SAME_LETTER = 0.3  # of a letter's size to its shadow; two letters side by side are further apart
_SLANTING = 0.1  # sine of twice the angle; upright and standing text has 0
_WIDE_LETTER = 0.6  # width of a letter by its height, from which on letters may stand in a column
_SMALLER = 0.87  # height of a raised or lowered letter by that of the letters beside it
_RAISED, _LOWERED = 0.12, -0.07  # heights from their baseline to its own
_CLOSE = 0.1  # line heights between the letters of a word at most, where a script is one of them
_LONGEST_SCRIPT = 8  # letters of an exponent or of the mark of a note
_SCRIPT = re.compile(r"[\d+\-−–=(),;*†‡§]*+(?:[a-hn][\d+\-−–=(),;*†‡§]*+)?\.?")
"""Exponents, marks of notes, figures of formulas; small words such as "20B" are none."""
_LEAST_GAPS = 2  # a page with fewer has no table
_CODE_OF = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_int)
_ANGLE_OF = ctypes.CFUNCTYPE(ctypes.c_float, ctypes.c_void_p, ctypes.c_int)
_BOX_OF = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


@dataclass(slots=True)
class Word:
    """Letters without white space between them, as ``place`` in the order of the page's content.

    Places are points from the page's top left, as it is turned for reading, downwards. ``turned``
    words are not written like most of the page: they stand on end, or upside down. A word
    that ``is_value`` was filled in.
    """

    text: str
    left: float
    top: float
    right: float
    bottom: float
    place: int
    turned: bool = False
    is_value: bool = False

    @property
    def height(self) -> float:
        """Of the font, not of the ink; letters of one font have the same."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """Half way down."""
        return (self.top + self.bottom) / 2

    @property
    def leftwards(self) -> bool:
        """Whether it is of a script that is written from right to left."""
        return not self.text.isascii() and any(
            unicodedata.bidirectional(letter) in ("R", "AL") for letter in self.text
        )


@dataclass(frozen=True, slots=True)
class Turn:
    """From the page's own space to points from the top left of the page as it is read."""

    across: tuple[float, float, float]
    down: tuple[float, float, float]
    width: float
    height: float

    def boxes(self, boxes: Floats) -> Floats:
        """Left, top, right, bottom on the page as it is read, of left, top, right, bottom in its
        own space; both of shape (n, 4)."""
        corners = boxes.reshape(-1, 2, 2)
        turned = corners @ np.array([self.across[:2], self.down[:2]]).T
        turned += np.array([self.across[2], self.down[2]])
        return np.hstack([turned.min(axis=1), turned.max(axis=1)])

    def box(
        self, left: float, top: float, right: float, bottom: float
    ) -> tuple[float, float, float, float]:
        """The same for one box."""
        (a, b, c), (d, e, f) = self.across, self.down
        x, u = a * left + b * top + c, a * right + b * bottom + c
        y, v = d * left + e * top + f, d * right + e * bottom + f
        return min(x, u), min(y, v), max(x, u), max(y, v)

    def quarters(self, angle: float) -> int:
        """Return the quarter turns of text on the displayed page, 0 to 3.

        ``angle`` is the angle of the text in the page's own space, in radians.
        """
        (a, b, _), (d, e, _) = self.across, self.down
        x, y = math.cos(angle), -math.sin(angle)  # pdfium counts clockwise
        return round(math.atan2(d * x + e * y, a * x + b * y) / (math.pi / 2)) % 4

    def by_quarters(self, quarters: int) -> Turn:
        """The page turned further, clockwise."""
        turn = self
        for _ in range(quarters % 4):
            a, b, c = turn.down
            turned = (-a, -b, turn.height - c)
            turn = Turn(turned, turn.across, turn.height, turn.width)
        return turn


@dataclass(frozen=True, slots=True)
class PageWords:
    """The words of a page in the order of its content, and how its places are reckoned."""

    words: list[Word]
    turn: Turn


def page_words(page: PdfPage) -> PageWords:
    """Read the characters of a page once. Words that are drawn twice, for weight, count once."""
    turn = turn_of(page)
    oriented = _page_words(page, turn)
    words = [word for word, _ in oriented]
    quarters = Counter[int]()
    for word, quarter in oriented:
        quarters[quarter] += len(word.text)
    most = max(quarters, key=lambda quarter: (quarters[quarter], -quarter), default=0)
    if most:
        words, turn = _turned_words(words, turn, most), turn.by_quarters(most)
    for word, (_, quarter) in zip(words, oriented, strict=True):
        word.turned = quarter != most
    return PageWords(_without_shadows(words), turn)


def has_gaps(words: Sequence[Word]) -> bool:
    """Whether words follow one another over wide gaps, or back to a former line, as in tables."""
    gaps = 0
    for one, other in itertools.pairwise(words):
        level = abs(one.middle - other.middle) < one.height / 2
        gaps += (level and other.left - one.right > one.height / 2) or other.bottom < one.top
    return gaps >= _LEAST_GAPS


def turn_of(page: PdfPage) -> Turn:
    """pdfium's own way from the page's space to what is drawn: turned and cropped alike."""
    from pypdfium2 import raw

    width, height = page.get_size()
    x, y = ctypes.c_int(), ctypes.c_int()

    def at(left: float, top: float) -> tuple[float, float]:
        raw.FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, left, top, x, y)
        return x.value / _FINE * width, y.value / _FINE * height

    step = 100.0
    (c, f), (ax, dx), (bx, ex) = at(0, 0), at(step, 0), at(0, step)
    across = ((ax - c) / step, (bx - c) / step, c)
    return Turn(across, ((dx - f) / step, (ex - f) / step, f), width, height)


@dataclass(frozen=True, slots=True)
class _Letters:
    """The visible characters of a page: codes (n,), boxes (n, 4), indices in pdfium's order (n,),
    whether white space stands before each, (n,), and whether that is more than a line break."""

    codes: Integers
    boxes: Floats
    places: Integers
    apart: Mask
    spaced: Mask

    def only(self, mask: Mask) -> _Letters:
        """Select letters; white space before one that goes stands before the next."""
        apart, spaced = (
            np.diff(np.cumsum(before)[mask], prepend=0) > 0 for before in (self.apart, self.spaced)
        )
        return _Letters(self.codes[mask], self.boxes[mask], self.places[mask], apart, spaced)


def _page_words(page: PdfPage, turn: Turn) -> list[tuple[Word, int]]:
    """Words, and how each lies on the page as it is shown, in quarters of a turn."""
    from pypdfium2 import raw

    textpage = page.get_textpage()
    try:
        letters = _letters(textpage, turn)

        angle_of = _ANGLE_OF(ctypes.cast(raw.FPDFText_GetCharAngle, ctypes.c_void_p).value or 0)
        handle = ctypes.cast(textpage.raw, ctypes.c_void_p).value

        def angle(index: int) -> float:
            return float(angle_of(handle, int(letters.places[index])))

        letters = _without_doubles(letters, angle)
        if not len(letters.codes):
            return []

        def baseline(index: int) -> float | None:
            """Points from the top of the page; None for a letter that does not stand upright."""
            x, y = ctypes.c_double(), ctypes.c_double()
            raw.FPDFText_GetCharOrigin(textpage.raw, int(letters.places[index]), x, y)
            upright = turn.quarters(angle(index)) == 0
            return turn.box(x.value, y.value, x.value, y.value)[1] if upright else None

        _mark_scripts(letters, baseline)
        first = _word_starts(letters, angle)
        boxes = np.hstack(
            [
                np.minimum.reduceat(letters.boxes[:, :2], first),
                np.maximum.reduceat(letters.boxes[:, 2:], first),
            ]
        )
        text = letters.codes.astype("<u4").tobytes().decode("utf-32-le", "replace")
        spans = itertools.pairwise([*first.tolist(), len(text)])
        oriented, quarters = list[tuple[Word, int]](), dict[float, int]()
        for place, ((start, end), box) in enumerate(zip(spans, boxes.tolist(), strict=True)):
            left, top, right, bottom = box
            word = Word(text[start:end], left, top, right, bottom, place)
            if (slant := angle(start)) not in quarters:
                quarters[slant] = turn.quarters(slant)
            oriented.append((word, quarters[slant]))
        return oriented
    finally:
        textpage.close()


def _letters(textpage: PdfTextPage, turn: Turn) -> _Letters:
    from pypdfium2 import raw

    count = min(textpage.count_chars(), _MOST_CHARACTERS)
    boxes = np.zeros((count, 4), np.float32)
    # two calls a character: addresses in place of objects make them twice as fast
    code_of = _CODE_OF(ctypes.cast(raw.FPDFText_GetUnicode, ctypes.c_void_p).value or 0)
    box_of = _BOX_OF(ctypes.cast(raw.FPDFText_GetLooseCharBox, ctypes.c_void_p).value or 0)
    address, step = boxes.ctypes.data, boxes.strides[0]
    handle = ctypes.cast(textpage.raw, ctypes.c_void_p).value
    codes = np.array([code_of(handle, index) for index in range(count)], np.int64)
    for index in range(count):
        box_of(handle, index, address + index * step)
    # Surrogate pairs, which some systems report, as one character; and which are second halves
    high = (codes >= 0xD800) & (codes < 0xDC00)
    low = (codes >= 0xDC00) & (codes < 0xE000)
    second = low & np.concatenate([[False], high[:-1]])[: len(codes)]
    first = np.flatnonzero(second) - 1
    codes[first] = 0x10000 + ((codes[first] - 0xD800) << 10) + (codes[first + 1] - 0xDC00)
    codes[(codes >= 0xD800) & (codes < 0xE000) & ~second | (codes >= 0x110000)] = 0xFFFD
    codes, halves = codes, second
    order_ligatures(codes, boxes)
    blank = np.isin(codes, _BLANKS) | ~boxes.any(axis=1)
    codes[np.isin(codes, _HYPHENS)] = ord("-")
    visible = ~blank & ~halves
    apart, spaced = (
        np.diff(np.cumsum(blanks)[visible], prepend=0) > 0
        for blanks in (blank, blank & ~np.isin(codes, _BREAKS))
    )
    places = np.flatnonzero(visible)
    return _Letters(codes[visible], turn.boxes(boxes[visible].astype(float)), places, apart, spaced)


def order_ligatures(codes: Integers, boxes: Floats) -> None:
    """Put the letters of one shape, such as lam and alef, into their order of reading, in place.

    pdfium reports them from left to right, also in scripts that are read from right to left.
    ``codes`` have the shape (n,), ``boxes`` (n, 4).
    """
    leftwards = (codes >= _LEFTWARDS.start) & (codes < _LEFTWARDS.stop)
    shared = (boxes[1:] == boxes[:-1]).all(axis=1) & leftwards[1:] & leftwards[:-1]
    edges = np.flatnonzero(np.diff(shared, prepend=False, append=False))
    for start, last in edges.reshape(-1, 2).tolist():
        codes[start : last + 1] = codes[start : last + 1][::-1].copy()


def _without_doubles(letters: _Letters, angle: Callable[[int], float]) -> _Letters:
    """Without letters that are drawn at once again, a little beside.

    Both letters of an "ff" that the font has as one shape stand in its box, and its neighbours are
    drawn once. The boxes of slanting text overlap: there all letters stay.
    """
    boxes, codes = letters.boxes, letters.codes
    if len(codes) < 2:
        return letters
    moved = np.abs(boxes[1:, :2] - boxes[:-1, :2])
    size = boxes[1:, 2:] - boxes[1:, :2]
    double = (moved < _SAME_LETTER * size).all(axis=1) & (codes[1:] == codes[:-1])
    for index in np.flatnonzero(double).tolist():
        double[index] = abs(math.sin(2 * angle(index))) < _SLANTING
    around = np.convolve(double, (1, 1, 0, 1, 1), "full")[2:-2] > 0
    ligature = double & ~around & ~moved.any(axis=1) & (codes[1:] == ord("f"))
    return letters.only(np.concatenate([[True], ~double | ligature]))


def _mark_scripts(letters: _Letters, baseline: Callable[[int], float | None]) -> None:
    """Write raised and lowered figures as such, in place, into the line of the letters beside them.

    They are smaller than the letter before them, or than the one after them at the start of a line,
    and stand on another baseline.
    """
    boxes, height = letters.boxes, letters.boxes[:, 3] - letters.boxes[:, 1]
    behind = np.flatnonzero(height[1:] < _SMALLER * height[:-1]) + 1
    before = np.flatnonzero(height[:-1] < _SMALLER * height[1:])
    for start in behind.tolist():
        end = start + 1
        while end < len(height) and _is_beside(boxes, end - 1, end):
            end += 1
        if _is_beside(boxes, start - 1, start, alike=False):
            _mark_script(letters, range(start, end), start - 1, baseline)
    for last in before.tolist():
        start = last
        while start and _is_beside(boxes, start - 1, start):
            start -= 1
        if _is_beside(boxes, last, last + 1, alike=False):
            _mark_script(letters, range(start, last + 1), last + 1, baseline)


def _is_beside(boxes: Floats, one: int, other: int, *, alike: bool = True) -> bool:
    """Whether two letters of about a line follow each other closely; ``alike`` ones at one height.

    Letters of different size overlap by part of their height.
    """
    (_, top, right, bottom), (next_left, next_top, _, next_bottom) = boxes[one], boxes[other]
    height = min(bottom - top, next_bottom - next_top)
    if alike and abs(bottom - next_bottom) + abs(top - next_top) > 0.05 * height:
        return False
    overlap = min(bottom, next_bottom) - max(top, next_top)
    return bool(overlap > 0.2 * height and -height < next_left - right < 0.5 * height)


def _mark_script(
    letters: _Letters, run: range, beside: int, baseline: Callable[[int], float | None]
) -> None:
    """Rewrite a run of letters if it is raised or lowered against the letter ``beside`` it."""
    line, own = baseline(beside), baseline(run.start)
    if len(run) > _LONGEST_SCRIPT or line is None or own is None:
        return
    shift = (line - own) / (letters.boxes[beside, 3] - letters.boxes[beside, 1])
    text = "".join(map(chr, letters.codes[run]))
    marked = raised(text) if shift > _RAISED else lowered(text) if shift < _LOWERED else text
    if marked == text or not _SCRIPT.fullmatch(text):
        return
    letters.codes[run] = list(map(ord, marked))
    letters.boxes[run, 1::2] = letters.boxes[beside, 1::2]
    for place in (run.start, run.stop):  # line breaks that pdfium sees at another baseline
        if 0 < place < len(letters.apart):
            left, right = letters.boxes[place - 1], letters.boxes[place]
            is_close = abs(right[0] - left[2]) < _CLOSE * (left[3] - left[1])
            letters.apart[place] &= letters.spaced[place] or not is_close


def _word_starts(letters: _Letters, angle: Callable[[int], float]) -> Integers:
    """Return the indexes of the letters that start a word, shape (words,).

    A letter starts a word if it isn't next to, or directly below, the letter before it.
    """
    last, box = letters.boxes[:-1], letters.boxes[1:]
    height = np.maximum(last[:, 3] - last[:, 1], 4.0)
    width = np.maximum(last[:, 2] - last[:, 0], 4.0)
    across = np.maximum(box[:, 0] - last[:, 2], last[:, 0] - box[:, 2])
    down = np.maximum(box[:, 1] - last[:, 3], last[:, 1] - box[:, 3])
    level = np.abs(box[:, 1] + box[:, 3] - last[:, 1] - last[:, 3]) / 2 <= _SAME_LINE * height
    beneath = np.abs(box[:, 0] + box[:, 2] - last[:, 0] - last[:, 2]) / 2 <= _SAME_LINE * width
    stacked = ~level & beneath & (down <= _WIDEST_GAP * np.minimum(height, width))
    wide = width >= _WIDE_LETTER * height  # as in a column of upright writing
    for index in np.flatnonzero(stacked & ~wide).tolist():
        stacked[index] = round(angle(index) / (math.pi / 2)) % 2 == 1
    joined = (level & (across <= _WIDEST_GAP * height)) | stacked
    starts = letters.apart.copy()
    starts[1:] |= ~joined
    starts[0] = True
    return np.flatnonzero(starts)


def _turned_words(words: list[Word], turn: Turn, quarters: int) -> list[Word]:
    """The words as they stand once a page that is shown lying on its side is upright."""
    width, height = turn.width, turn.height
    for word in words:
        box = word.left, word.top, word.right, word.bottom
        wide, high = width, height
        for _ in range(quarters % 4):
            left, top, right, bottom = box
            box = top, wide - right, bottom, wide - left
            wide, high = high, wide
        word.left, word.top, word.right, word.bottom = box
    return words


def _without_shadows(words: list[Word]) -> list[Word]:
    visible, seen = list[Word](), dict[str, list[Word]]()
    for word in words:
        like = seen.setdefault(word.text, [])
        near = _SAME_PLACE * word.height
        if any(
            abs(word.left - other.left) <= near and abs(word.top - other.top) <= near
            for other in like
        ):
            continue
        like.append(word)
        visible.append(word)
    return visible
