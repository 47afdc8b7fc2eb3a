"""A page of a document as it was printed, with the words of a passage marked on it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rag import readers
from rag.errors import UnreadableDocument
from rag.readers import Mark, PageImage
from rag.types import Document, Page, Span

PICTURED = "application/pdf"


def page_image(
    original: Path | None, document: Document, number: int, spans: Sequence[Span]
) -> PageImage:
    """Page ``number`` (from 1) of a document; ``spans`` are offsets into its text.

    ``boxes`` of the result has a list for each span, empty where it stands on other pages. Raises
    UnreadableDocument for what has no pages to show, or whose original is gone, locked or damaged.
    """
    if document.media_type != PICTURED:
        raise UnreadableDocument(
            "This document has no printed pages.", "Read its text.", reason="unsupported_type"
        )
    if original is None:
        raise UnreadableDocument(
            "The original file is not kept here.",
            "Add it again to see its pages.",
            reason="missing",
        )
    page = next(
        (candidate for candidate in document.pages if candidate.number == number),
        Page(number, 0, 0),
    )
    text = document.text[page.start : page.end]
    return readers.draw(original, number, text, [_within(page, span) for span in spans])


def _within(page: Page, span: Span) -> Mark:
    start, end = (min(max(edge, page.start), page.end) - page.start for edge in span)
    return Mark(start, end)
