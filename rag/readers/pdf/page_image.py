"""A page of a PDF as it is printed, with the words of a passage marked where they stand."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rag.errors import UnreadableDocument
from rag.readers.content import Source
from rag.readers.pdf.page_alignment import align
from rag.readers.pdf.page_boxes import Boxes, characters, line_boxes
from rag.readers.pdf.pdfium import damaged_pdf, open_pdf

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfPage

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
            picture = _picture(page)
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


def _picture(page: PdfPage) -> Image:
    bitmap = page.render(scale=scale(*page.get_size()), may_draw_forms=False)
    picture: Image = bitmap.to_pil().convert("RGB")
    return picture


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
