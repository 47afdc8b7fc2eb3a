"""A page of a PDF as it is printed, with the words of a passage marked where they stand.

The document's text was cleaned (hyphens joined, ligatures resolved, blocks in another order). The
page's characters are as in the file, with their positions. Both are folded to comparable letters
and aligned: first in order, by the longest common subsequence, then the moved text, by the longest
runs that are still free, then single words.
"""

from __future__ import annotations

import ctypes
import io
import math
import re
import unicodedata
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq

from rag.errors import UnreadableDocument
from rag.readers.content import Source
from rag.readers.pdf.pdfium import damaged_pdf, open_pdf
from rag.readers.pdf.words import order_ligatures
from rag.types import Floats, Mask, Span

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage

Places = npt.NDArray[np.int64]
"""Index of the page's character by character of the text, -1 where there is none; shape (n,)."""

MOST_CHARACTERS = 30_000  # of a page; the aligner's memory grows with the square
_SHORTEST = 5  # folded characters; shorter runs on their own agree by chance
_NEAR = 3  # a short run counts when it stands this close to a long one in both texts
_SHORT_WORD = 4  # a word of so few characters is found whole or not at all
_MOST_SEARCHES = 300
_TAKEN = "\x00"


@dataclass(frozen=True, slots=True)
class _Run:
    text: int
    page: int
    length: int


def align(text: str, page: str) -> Places:
    """For each character of ``text`` its index in ``page``, or -1. No index occurs twice.

    White space, hyphens and case do not count. Without moved blocks the indices increase.
    """
    text, page = text[:MOST_CHARACTERS], page[:MOST_CHARACTERS]
    (letters, origins), (signs, targets) = _folded(text), _folded(page)
    positions = np.full(len(letters), -1, np.int64)
    for run in _in_order(letters, signs):
        positions[run.text : run.text + run.length] = np.arange(run.page, run.page + run.length)
    words = _words(text, origins)
    _release_torn(words, positions)
    _extend(letters, signs, words, positions)
    _place_moved(letters, signs, positions)
    _place_words(letters, signs, words, _words(page, targets), positions)
    places = np.full(len(text), -1, np.int64)
    aligned = np.flatnonzero(positions >= 0)
    places[origins[aligned]] = targets[positions[aligned]]
    # A ligature on the page stands for several letters; the first of them keeps it
    _, first = np.unique(places, return_index=True)
    unique = np.full(len(places), -1, np.int64)
    unique[first] = places[first]
    return unique


def _folded(text: str) -> tuple[str, Places]:
    """The characters that count, folded, and for each the index it comes from."""
    letters, origins = list[str](), list[int]()
    for index, character in enumerate(text):
        for letter in unicodedata.normalize("NFKD", character).casefold():
            if _counts(letter):
                letters.append(letter)
                origins.append(index)
    return "".join(letters), np.asarray(origins, np.int64)


def _counts(letter: str) -> bool:
    # Hyphens come and go at line ends; accents are a character of their own in some files;
    # controls and U+FFFE are pdfium's marks.
    kind = unicodedata.category(letter)
    return kind[0] not in "ZCM" and kind != "Pd" and letter != "\u2212"


def _in_order(letters: str, signs: str) -> Iterator[_Run]:
    runs = [
        _Run(block.a, block.b, block.size)
        for block in LCSseq.editops(letters, signs).as_matching_blocks()
        if block.size
    ]
    for place, run in enumerate(runs):
        if run.length >= _SHORTEST or letters == signs or _leans(runs, place):
            yield run


def _leans(runs: Sequence[_Run], place: int) -> bool:
    """Whether a short run stands right beside a long one, as around a misread letter."""
    run = runs[place]
    before = ((one, _gap(one, run)) for one in runs[max(place - 1, 0) : place])
    after = ((one, _gap(run, one)) for one in runs[place + 1 : place + 2])
    return any(one.length >= _SHORTEST and gap <= _NEAR for one, gap in chain(before, after))


def _gap(one: _Run, next_one: _Run) -> int:
    return max(next_one.text - one.text - one.length, next_one.page - one.page - one.length)


def _words(text: str, origins: Places) -> list[Span]:
    """Words, cut at white space, as spans of folded characters; words of none are left out."""
    edges = [match.span() for match in re.finditer(r"\S+", text)]
    spans = np.searchsorted(origins, np.asarray(edges, np.int64).reshape(-1, 2))
    return [(first, last) for first, last in spans.tolist() if last > first]


def _release_torn(words: Sequence[Span], positions: Places) -> None:
    """Free what of a word lies away from the rest of it, and short words found only in part.

    In the folded texts a word stands in one piece, also where a line ends within it.
    """
    for first, last in words:
        places = positions[first:last]
        if (places >= 0).all() and places[-1] - places[0] == last - first - 1:
            continue
        aligned = np.flatnonzero(places >= 0)
        torn = np.flatnonzero(np.abs(np.diff(places[aligned])) > _NEAR) + 1
        pieces = np.split(aligned, torn)
        largest = max(pieces, key=len)
        largest_places = places[largest]
        places[:] = -1
        if last - first > _SHORT_WORD or len(largest) == last - first:
            places[largest] = largest_places


def _extend(letters: str, signs: str, words: Sequence[Span], positions: Places) -> None:
    """Fill ``positions`` for the rest of a word beside what was found, where the page has it."""
    used = np.zeros(len(signs), dtype=bool)
    used[positions[positions >= 0]] = True
    for first, last in words:
        steps = [(index, 1) for index in range(first + 1, last)]
        steps += [(index, -1) for index in range(last - 2, first - 1, -1)]
        for index, step in steps:
            place = positions[index - step] + step
            if positions[index] >= 0 or positions[index - step] < 0 or not 0 <= place < len(signs):
                continue
            if not used[place] and signs[place] == letters[index]:
                positions[index], used[place] = place, True


def _place_moved(letters: str, signs: str, positions: Places) -> None:
    """Fill ``positions`` for runs that stand elsewhere on the page, the longest of a gap first."""
    free = list(signs)
    for index in positions[positions >= 0]:
        free[index] = _TAKEN
    waiting = list(_gaps(positions))
    for _ in range(_MOST_SEARCHES):
        while waiting and waiting[-1][1] - waiting[-1][0] < _SHORTEST:
            waiting.pop()
        if not waiting:
            return
        first, last = waiting.pop()
        run = _longest(letters[first:last], "".join(free))
        if run.length >= _SHORTEST:
            start = first + run.text
            positions[start : start + run.length] = np.arange(run.page, run.page + run.length)
            free[run.page : run.page + run.length] = _TAKEN * run.length
            waiting += [(first, start), (start + run.length, last)]


def _place_words(
    letters: str, signs: str, words: Sequence[Span], page_words: Sequence[Span], positions: Places
) -> None:
    """Fill ``positions`` for words that both texts have left over, like ones in the same order."""
    used = np.zeros(len(signs), dtype=bool)
    used[positions[positions >= 0]] = True
    unused: dict[str, deque[int]] = defaultdict(deque)
    for first, last in page_words:
        if not used[first:last].any():
            unused[signs[first:last]].append(first)
    for first, last in words:
        waiting = unused.get(letters[first:last])
        if waiting and (positions[first:last] < 0).all():
            start = waiting.popleft()
            positions[first:last] = np.arange(start, start + last - first)


def _gaps(positions: Places) -> Iterator[tuple[int, int]]:
    missing = np.concatenate([[False], positions < 0, [False]])
    edges = np.flatnonzero(missing[1:] != missing[:-1])
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def _longest(gap_text: str, free: str) -> _Run:
    at = free.find(gap_text)
    if at >= 0:
        return _Run(0, at, len(gap_text))
    matcher = SequenceMatcher(None, free, gap_text, autojunk=False)
    match = matcher.find_longest_match(0, len(free), 0, len(gap_text))
    return _Run(match.b, match.a, match.size)


Boxes = Floats
"""Left, top, right, bottom as shares of the page's width and height, from its top left; (n, 4)."""

_FINE = 1_000_000  # the size of the device that places are asked for: pdfium rounds to whole units
_WIDEST_GAP = 2.0  # line heights between two words of one box; further apart they are columns
_WIDEST_STEP = 0.6  # the same along upright writing, where lines of a paragraph must stay apart
_ON_ONE_LINE = 0.5  # of the lower one's height that two boxes of a line share


@dataclass(frozen=True, slots=True)
class PageCharacters:
    """The page's characters as pdfium orders them, and where each stands; no ink, no box."""

    text: str
    boxes: Boxes


def characters(page: PdfPage) -> PageCharacters:
    """Read a page; boxes are cut at its edges. Characters outside of the page have none."""
    from pypdfium2 import raw

    textpage = page.get_textpage()
    count = min(textpage.count_chars(), MOST_CHARACTERS)
    codes = np.array([raw.FPDFText_GetUnicode(textpage, index) for index in range(count)], np.int64)
    corners = np.zeros((count, 4))
    values = [ctypes.c_double() for _ in range(4)]
    for index in range(count):
        if raw.FPDFText_GetCharBox(textpage, index, *values):
            left, right, bottom, top = (value.value for value in values)
            corners[index] = (*_place(page, left, top), *_place(page, right, bottom))
    order_ligatures(codes, corners)
    text = "".join(chr(code) if 0 < code < 0x110000 else " " for code in codes.tolist())
    points = np.clip(corners, 0.0, 1.0).reshape(-1, 2, 2)
    return PageCharacters(text, np.hstack([points.min(axis=1), points.max(axis=1)]))


def _place(page: PdfPage, x: float, y: float) -> tuple[float, float]:
    """A point of the page's own space as shares of what is drawn: turned and cropped alike."""
    from pypdfium2 import raw

    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, x, y, across, down)
    return across.value / _FINE, down.value / _FINE


def has_ink(boxes: Boxes) -> Mask:
    """Return a mask of the boxes that have an area, shape (n,)."""
    return np.asarray((boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1]))


def line_boxes(page: PageCharacters, places: Places, shape: float) -> Boxes:
    """The boxes of some characters (indices, -1 for none), joined along their lines.

    ``shape`` is the page's width over its height, so that gaps and heights compare.
    """
    is_marked = np.zeros(len(page.text), dtype=bool)
    is_marked[places[places >= 0]] = True
    ink = has_ink(page.boxes)
    joined: list[Boxes] = []
    unbroken = False
    for index, character in enumerate(page.text):
        if not is_marked[index]:
            # Punctuation and blanks between two words of the passage belong to it.
            unbroken = unbroken and not character.isalnum()
        elif ink[index]:
            box = page.boxes[index]
            if unbroken and _continues(joined[-1], box, shape):
                joined[-1] = np.concatenate(
                    [np.minimum(joined[-1][:2], box[:2]), np.maximum(joined[-1][2:], box[2:])]
                )
            else:
                joined.append(box.copy())
            unbroken = True
    return np.array(joined).reshape(-1, 4)


def _continues(line: Boxes, box: Boxes, shape: float) -> bool:
    """Whether a character stands beside the last one, or below or above it in upright writing."""
    sizes = np.array([shape, 1.0])
    low, high = np.maximum(line[:2], box[:2]), np.minimum(line[2:], box[2:])
    shared = (high - low) * sizes  # negative: the gap
    lengths = np.stack([(extent[2:] - extent[:2]) * sizes for extent in (line, box)])
    beside = shared[1] >= _ON_ONE_LINE * lengths[:, 1].min()
    # What is wider than high is a line already, and what stands below it is the next one.
    stacked = shared[0] >= _ON_ONE_LINE * lengths[:, 0].min() and lengths[0, 1] >= lengths[0, 0]
    return bool(
        (beside and -shared[0] <= _WIDEST_GAP * lengths[:, 1].max())
        or (stacked and -shared[1] <= _WIDEST_STEP * lengths[:, 0].max())
    )


Box = tuple[float, float, float, float]
"""Left, top, right, bottom as shares of the page's width and height, from its top left."""

MOST_PIXELS = 1_800_000  # of one picture: an A4 page at about 140 dots an inch
_LONGEST_SIDE = 4000
_PADDING = 0.0015  # of the page: boxes are as tight as the ink
_TINTS = ((184, 216, 255), (255, 221, 87))  # the passage, and the words in it that were quoted


@dataclass(frozen=True, slots=True)
class Mark:
    """Characters of a page's text (offsets within the text of this page) to be marked."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class PageImage:
    """A page as a PNG of ``width`` by ``height`` pixels; ``pages`` counts those of the file.

    ``boxes`` has a list for every mark asked for: where its words stand, a box per line.
    ``matched`` is the share of all marked letters that were found on the page, 1 for no marks.
    """

    png: bytes
    width: int
    height: int
    pages: int
    boxes: tuple[tuple[Box, ...], ...]
    matched: float


def draw_page(source: Source, number: int, text: str, marks: Sequence[Mark]) -> PageImage:
    """Draw page ``number`` (from 1) of a PDF; ``text`` is what the document has of this page.

    Raises UnreadableDocument: needs_password, encrypted, damaged.
    """
    from pypdfium2 import PdfiumError

    with open_pdf(source) as document:
        count = len(document)
        try:
            page = document[min(max(number, 1), count) - 1]
            boxes, share = _boxes(page, text, marks)
            bitmap = page.render(scale=scale(*page.get_size()), may_draw_forms=False)
            picture: Image = bitmap.to_pil().convert("RGB")
        except (PdfiumError, IndexError) as error:
            raise damaged_pdf() from error
    tuples = tuple(tuple(_tuple(box) for box in mark_boxes) for mark_boxes in boxes)
    return PageImage(_tinted(picture, boxes), *picture.size, count, tuples, share)


def _boxes(page: PdfPage, text: str, marks: Sequence[Mark]) -> tuple[list[Boxes], float]:
    if not marks:
        return [], 1.0
    printed = characters(page)
    places = align(text, printed.text)
    shape = page.get_width() / max(page.get_height(), 1e-6)
    places_by_mark = [places[mark.start : mark.end] for mark in marks]
    letters = sum(
        character.isalnum() for mark in marks for character in text[mark.start : mark.end]
    )
    located = sum(
        place >= 0 and character.isalnum()
        for mark, mark_places in zip(marks, places_by_mark, strict=True)
        for place, character in zip(mark_places, text[mark.start : mark.end], strict=False)
    )
    return [
        line_boxes(printed, mark_places, shape) for mark_places in places_by_mark
    ], located / letters if letters else 1


def _tuple(box: Boxes) -> Box:
    left, top, right, bottom = (round(float(value), 6) for value in box)
    return left, top, right, bottom


def _tinted(picture: Image, boxes: Sequence[Boxes]) -> bytes:
    """A PNG with the boxes marked like by a highlighter: ink stays as dark as it was."""
    from PIL import Image, ImageChops, ImageDraw

    layer = Image.new("RGB", picture.size, "white")
    pen = ImageDraw.Draw(layer)
    size = np.tile(picture.size, 2)
    for place, mark_boxes in enumerate(boxes):
        for box in mark_boxes:
            padded = (box + _PADDING * np.array([-1, -1, 1, 1])) * size
            pen.rectangle(padded.tolist(), fill=_TINTS[min(place, len(_TINTS) - 1)])
    drawn = io.BytesIO()
    ImageChops.multiply(picture, layer).save(drawn, "PNG")
    return drawn.getvalue()


def scale(width: float, height: float) -> float:
    """Pixels a point, so that a page of this size in points stays within the bounds.

    Raises UnreadableDocument for a page without any size.
    """
    if not (width > 0 and height > 0):
        raise UnreadableDocument(
            "The page has no size: it cannot be drawn.", "Read its text.", reason="damaged"
        )
    return min(math.sqrt(MOST_PIXELS / (width * height)), _LONGEST_SIDE / max(width, height))
