"""The characters of a PDF page with their boxes, and the boxes of a passage, line by line."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag.readers.pdf.page_alignment import MOST_CHARACTERS, Places
from rag.types import Floats, Mask

if TYPE_CHECKING:
    from pypdfium2 import PdfPage

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
    codes = [raw.FPDFText_GetUnicode(textpage, index) for index in range(count)]
    corners = np.zeros((count, 4))
    values = [ctypes.c_double() for _ in range(4)]
    for index in range(count):
        if raw.FPDFText_GetCharBox(textpage, index, *values):
            left, right, bottom, top = (value.value for value in values)
            corners[index] = (*_place(page, left, top), *_place(page, right, bottom))
    text = "".join(chr(code) if 0 < code < 0x110000 else " " for code in codes)
    return PageCharacters(text, _upright(corners))


def _place(page: PdfPage, x: float, y: float) -> tuple[float, float]:
    """A point of the page's own space as shares of what is drawn: turned and cropped alike."""
    from pypdfium2 import raw

    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, _FINE, _FINE, 0, x, y, across, down)
    return across.value / _FINE, down.value / _FINE


def _upright(corners: Boxes) -> Boxes:
    points = np.clip(corners, 0.0, 1.0).reshape(-1, 2, 2)
    return np.hstack([points.min(axis=1), points.max(axis=1)])


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
