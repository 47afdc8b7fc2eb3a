"""pdfium's view of a PDF: what stands on its pages, and why there is no text."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from rag.errors import UnreadableDocument
from rag.readers import recognition
from rag.readers.content import Source
from rag.readers.pdf.drawn import Drawn
from rag.readers.pdf.words import PageWords, Turn, Word, has_gaps, page_words

if TYPE_CHECKING:
    from PIL.Image import Image
    from pypdfium2 import PdfDocument

_WRONG_PASSWORD, _UNKNOWN_SECURITY = 4, 5  # FPDF_ERR_PASSWORD, FPDF_ERR_SECURITY of fpdfview.h
_TEXT_OBJECT = 1  # FPDF_PAGEOBJ_TEXT of fpdf_edit.h
_IMAGE_OBJECT = 3  # FPDF_PAGEOBJ_IMAGE
_PAGES_LOOKED_AT = 50
_LONGEST_LABEL = 20
_MOSTLY = 0.5  # share of a page that pictures cover
_UNLOADABLE = (RuntimeError, IndexError, ctypes.ArgumentError)  # pdfium's own is a RuntimeError
_MOST_PIXELS = 40_000_000  # of a page drawn for recognition: more than A2 at 200 dots an inch


@dataclass(frozen=True, slots=True)
class PageInk:
    """The words of a page and the lines drawn on it; how many more were left out, by kind."""

    words: PageWords
    drawn: Drawn
    left_out: Mapping[str, int] = field(default_factory=dict)
    has_notes: bool = True


NO_INK = PageInk(PageWords([], Turn((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), 1.0, 1.0)), Drawn())


def _has_notes(page: Any) -> bool:
    """Whether a page has annotations beside links, such as values of forms."""
    from pypdfium2 import raw

    for number in range(raw.FPDFPage_GetAnnotCount(page.raw)):
        annotation = raw.FPDFPage_GetAnnot(page.raw, number)
        kind = raw.FPDFAnnot_GetSubtype(annotation)
        raw.FPDFPage_CloseAnnot(annotation)
        if kind not in (raw.FPDF_ANNOT_LINK, raw.FPDF_ANNOT_POPUP):
            return True
    return False


class PdfiumPages:
    """The pages of a file that is opened when first asked; a context manager, because pdfium
    holds native memory.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._document: PdfDocument | None = None
        self._broken = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused: object) -> None:
        if self._document is not None:
            self._document.close()

    def count(self) -> int:
        """Number of pages. Raises UnreadableDocument where pdfium cannot open the file either."""
        from pypdfium2 import PdfiumError

        try:
            return len(self._open())
        except PdfiumError as error:
            raise _explain(self._source, error.err_code) from error

    def ink(self, index: int) -> PageInk:
        """Return the words and drawings of one page; nothing if the page does not load."""
        from rag.readers.pdf.page_objects import drawn_on

        if self._broken:
            return NO_INK
        try:
            page = self._open()[index]
        except _UNLOADABLE:
            return NO_INK
        try:
            words, drawn = page_words(page), Drawn()
            if words.words:
                drawn = drawn_on(page, words.turn)
            hidden, struck = drawn.hidden(words.words), drawn.struck(words.words)
            valid, left_out = list[Word](), Counter[str]()
            for word in words.words:
                if word.place in hidden:
                    left_out["covered_word"] += 1
                elif drawn.is_unseen(word):
                    left_out["white_word"] += 1
                elif word.place in struck:
                    left_out["struck_word"] += 1
                else:
                    valid.append(word)
            lines = drawn if has_gaps(valid) else Drawn()
            return PageInk(replace(words, words=valid), lines, left_out, _has_notes(page))
        except RuntimeError:
            return NO_INK
        finally:
            page.close()

    def label(self, index: int) -> str:
        """Return the number printed on a page, as the file states it; "" where it is the same."""
        try:
            label = " ".join(str(self._open().get_page_label(index) or "").split())
        except _UNLOADABLE:
            return ""
        return label if label != str(index + 1) and len(label) <= _LONGEST_LABEL else ""

    def is_picture(self, index: int) -> bool:
        """Whether pictures cover most of a page, as on a scan."""
        try:
            page = self._open()[index]
            width, height = page.get_size()
            covered = 0.0
            for item in page.get_objects(filter=[_IMAGE_OBJECT], max_depth=3):
                left, bottom, right, top = item.get_bounds()
                covered += max(0.0, min(right, width) - max(left, 0.0)) * max(
                    0.0, min(top, height) - max(bottom, 0.0)
                )
        except _UNLOADABLE:
            return False
        return bool(covered >= _MOSTLY * width * height > 0)

    def has_objects(self, index: int) -> bool:
        """Whether anything stands on a page."""
        try:
            return next(self._open()[index].get_objects(max_depth=1), None) is not None
        except _UNLOADABLE:
            return False

    def picture(self, index: int, dpi: float) -> Image | None:
        """A page as it is printed, in grey; None where it does not load, or is no page's size."""
        try:
            page = self._open()[index]
            width, height = page.get_size()
            scale = dpi / 72
            if not 0 < width * height * scale**2 < _MOST_PIXELS:
                return None
            picture: Image = page.render(scale=scale, grayscale=True).to_pil()
        except _UNLOADABLE:
            return None
        return picture

    def why_silent(self, pages: int, *, broken: bool) -> UnreadableDocument:
        """The error for a file of which no page gave text; ``broken`` if pypdf gave it up."""
        loaded, object_types = 0, set[int]()
        for index in range(min(pages, _PAGES_LOOKED_AT)):
            try:
                page = self._open()[index]
            except _UNLOADABLE:
                continue
            loaded += 1
            object_types.update(item.type for item in page.get_objects(max_depth=3))
        if object_types:
            return _unmapped() if _TEXT_OBJECT in object_types else _scanned(pages)
        return _blank() if loaded and not broken else damaged_pdf()

    def _open(self) -> PdfDocument:
        from pypdfium2 import PdfDocument

        if self._document is None:
            try:
                self._document = PdfDocument(self._source.path, password=self._source.password)
            except RuntimeError:
                self._broken = True
                raise
        return self._document


@contextmanager
def open_pdf(source: Source) -> Iterator[PdfDocument]:
    """The file, opened and closed again. Raises UnreadableDocument where it does not open."""
    from pypdfium2 import PdfDocument, PdfiumError

    try:
        document = PdfDocument(source.path, password=source.password)
    except PdfiumError as error:
        raise _explain(source, error.err_code) from error
    try:
        yield document
    finally:
        document.close()


def _explain(source: Source, code: int | None) -> UnreadableDocument:
    if code == _WRONG_PASSWORD:
        return wrong_password(source.password)
    return unknown_encryption() if code == _UNKNOWN_SECURITY else damaged_pdf()


def wrong_password(password: str | None) -> UnreadableDocument:
    """The error for a PDF that does not open with the password at hand."""
    if password:
        message = "The password given does not open this PDF."
    else:
        message = "The PDF is encrypted and opens only with a password."
    return UnreadableDocument(
        message,
        "Give its password, or save a copy without one (print to PDF) and add that.",
        reason="needs_password",
    )


def unknown_encryption() -> UnreadableDocument:
    """The error for a security handler that no library here knows."""
    return UnreadableDocument(
        "The PDF is encrypted in a way that is not supported (certificates or rights management).",
        "Save a copy without encryption and add that.",
        reason="encrypted",
    )


def damaged_pdf() -> UnreadableDocument:
    """The error for a file that says it is a PDF and cannot be read as one."""
    return UnreadableDocument(
        "The PDF is damaged: its pages cannot be read.",
        "Open it in a PDF viewer; if that works, save a copy (print to PDF) and add that.",
        reason="damaged",
    )


def _scanned(pages: int) -> UnreadableDocument:
    what = "page is a picture or drawing" if pages == 1 else "pages are pictures or drawings"
    return UnreadableDocument(
        f"The PDF has no text: its {what}, as from a scanner.",
        _without_recognition()
        or "No text can be recognised in them: scan them again, straight and with 200 dots an "
        "inch or more.",
        reason="scanned",
    )


def _without_recognition() -> str:
    """Return advice on the recognition of text in pictures; "" if recognition is available."""
    if recognition.available():
        return ""
    return (
        f"Text in pictures is not recognised here (no OCR). {recognition.ADVICE}. Or run the file "
        "through an OCR program, which adds the text, and add the result."
    )


def _unmapped() -> UnreadableDocument:
    return UnreadableDocument(
        "The PDF shows text, but its fonts do not say which characters the shapes stand for.",
        _without_recognition()
        or "Nor can it be recognised from its picture. Export the PDF again from the program that "
        "made it, and add that.",
        reason="scanned",
    )


def _blank() -> UnreadableDocument:
    return UnreadableDocument(
        "The PDF is empty: there is nothing on its pages.",
        "Check that this is the file you meant.",
        reason="empty",
    )
