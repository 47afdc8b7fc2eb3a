"""A page of a PDF as it was printed, with the words of a passage marked."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from rag import Document, KnowledgeBase, PageImage, TouchstoneError, counted

PRINTED = "application/pdf"
KEPT = 24  # pictures, of about half a megabyte each
_MOST_FOUND = 0.9  # of the passage's letters; below that, the reader is told


def is_printed(base: KnowledgeBase, document: Document) -> bool:
    """Whether there are pages to show: a PDF whose file was kept."""
    return document.media_type == PRINTED and base.documents.original(document.id) is not None


def printed_page(
    base: KnowledgeBase, document: Document, number: int, marks: Sequence[tuple[int, int]]
) -> int:
    """Draws a page, marks by text offsets; returns how many pages there are, 0 if it cannot."""
    drawn = _drawn(base, document, number, marks)
    if isinstance(drawn, str):
        st.caption(f":material/image_not_supported: {plain(drawn)} Here is its text instead.")
        return 0
    with st.container(border=True):
        # As the PNG that it is: Streamlit would make a JPEG of it at every rerun.
        description = _said(document, number, drawn)
        st.image(drawn.png, width="stretch", output_format="PNG", alt=description)
    if drawn.found < _MOST_FOUND and any(drawn.boxes):
        st.caption(f"{drawn.found:.0%} of the passage was found on the page.")
    return drawn.pages


def _said(document: Document, number: int, drawn: PageImage) -> str:
    lines = sum(len(boxes) for boxes in drawn.boxes[:1])
    marked = f"marked in {counted(lines, 'place')}" if lines else "elsewhere"
    return f"Page {number} of {document.name}; the passage is {marked}."


@cache_data(KEPT, show_spinner="Drawing the page")
def _drawn(
    base: KnowledgeBase, document: Document, number: int, marks: Sequence[tuple[int, int]]
) -> PageImage | str:
    """The picture, or why there is none: a file that hangs must not be tried at every rerun."""
    try:
        return base.documents.page(document, number, marks)
    except TouchstoneError as error:
        return error.message
