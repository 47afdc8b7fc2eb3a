"""PNG, JPEG and TIFF files as documents: the text that is recognised in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag.errors import UnreadableDocument
from rag.readers.content import Composer, Content, Source
from rag.readers.ocr import recognition

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_PIXELS = 80_000_000  # an A3 page at 600 dots an inch has 70 million
_LEAST_DPI = 70  # what says less does not know: cameras and screens


def read_picture(source: Source) -> Content:
    """A page for each picture of the file, with its confidence.

    Raises UnreadableDocument: scanned (also where nothing can recognise it), too_large, damaged.
    """
    if not recognition.available():
        raise UnreadableDocument(
            "The file is a picture, and text in pictures is not recognised here (no OCR).",
            f"{recognition.ADVICE}.",
            reason="scanned",
        )
    from PIL import Image, ImageSequence, UnidentifiedImageError

    composer, read = Composer(), 0
    try:
        with Image.open(source.path) as file:
            count = min(getattr(file, "n_frames", 1), source.limits.max_pages)
            recogniser = recognition.Recogniser(lambda: source.tick(read, count))
            for number, picture in enumerate(ImageSequence.Iterator(file), 1):
                if number > count:
                    break
                _check_size(picture)
                dpi = float(picture.info.get("dpi", (0, 0))[0])
                recognised = recogniser.read(picture, dpi if dpi >= _LEAST_DPI else recognition.DPI)
                if recognised is not None:
                    composer.page(number, confidence=recognised.confidence)
                    composer.block(recognised.text)
                read = number
                source.tick(read, count)
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError) as error:
        raise UnreadableDocument(
            "The picture is damaged: it cannot be shown.",
            "Open it in another program, save a fresh copy, and add that.",
            reason="damaged",
        ) from error
    content = composer.content(pages=str(count))
    if not content.text:
        raise UnreadableDocument(
            "No text can be recognised in this picture.",
            "Photograph or scan it again: sharp, straight, with 200 dots an inch or more.",
            reason="scanned",
        )
    return content


def _check_size(picture: Image) -> None:
    if picture.width * picture.height > _MOST_PIXELS:
        raise UnreadableDocument(
            f"The picture has {picture.width * picture.height / 1e6:,.0f} million "
            f"pixels. The limit is {_MOST_PIXELS / 1e6:,.0f} million.",
            "Save it smaller and add that.",
            reason="too_large",
        )
