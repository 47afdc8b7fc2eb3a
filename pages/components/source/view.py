"""A passage in its document: the printed page, the table's rows, or the text, always marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from pages.components.shell.buttons import switch
from pages.components.shell.session import cache_data, to_url
from pages.components.shell.text import plain
from pages.components.source.whole_text import is_table, table_rows, whole_text
from rag import (
    Document,
    KnowledgeBase,
    PageImage,
    Recipe,
    TouchstoneError,
    counted,
    find_quote,
    page_name,
    percent,
    place_of,
)

WALK = "walk"  # the URL's parameter: how many passages on from the one that was opened
LEAF = "leaf"  # the same for pages
TEXT = "Text"

PRINTED = "application/pdf"
KEPT = 24  # pictures, of about half a megabyte each
_MOST_MATCHED = 0.9  # of the passage's letters; below that, the reader is told


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A span of a document to show, the words in it to emphasize, and what is quoted beside them.

    That are further quotes of the passage, and footnotes.
    """

    document_id: str
    start: int
    end: int
    quote: str = ""
    also: Sequence[str] = ()


def source_view(base: KnowledgeBase, recipe: Recipe, span: SourceSpan, height: int = 520) -> None:
    """Draw the document at a place, as it is or as text, with steps to either side."""
    document = base.documents.document(span.document_id)
    spans = base.documents.spans(span.document_id, recipe.index)
    at = _order(spans, span)
    walked = _stepped(WALK)
    now = min(max(at + walked, 0), len(spans) - 1) if at is not None else None
    seen = span
    if now is not None and walked:
        seen = SourceSpan(span.document_id, *spans[now])
    marks = _marks(document.text, seen)
    printed = place_of(document, *marks[:2][-1])
    page = printed.page
    heading = place_of(document, seen.start, seen.end).heading
    _title(document.name, page, heading, now, len(spans))
    if printed.recognised:
        st.caption(f":material/document_scanner: {printed.recognised}")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        view = _switch(base, document)
        steps = st.container(
            horizontal=True, vertical_alignment="center", gap="xsmall", width="content"
        )
    if view == "Page" and _page(base, document, page or 1, marks, steps):
        return
    if now is not None and at is not None:
        with steps:
            _step("Previous passage", "upward", WALK, now - 1 - at, now > 0)
            _step("Next passage", "downward", WALK, now + 1 - at, now < len(spans) - 1)
    if view == "Table":
        table_rows(document, marks, height)
    else:
        whole_text(document, marks, height)


def forget_walk() -> None:
    """Back to the passage itself; call it when another one is opened."""
    for name in (WALK, LEAF):
        st.query_params.pop(name, None)


def _stepped(name: str) -> int:
    try:
        return int(st.query_params.get(name, "0"))
    except ValueError:
        return 0


def _order(spans: Sequence[tuple[int, int]], span: SourceSpan) -> int | None:
    """The passage of this build that holds the middle of the place, if any does."""
    middle = (span.start + span.end) // 2
    containing = (start <= middle < max(end, start + 1) for start, end in spans)
    return next((order for order, holds in enumerate(containing) if holds), None)


def _marks(text: str, span: SourceSpan) -> list[tuple[int, int]]:
    """The passage, and the quoted words in it where there are any, with what is quoted beside."""
    at = text.find(span.quote, span.start, span.end) if span.quote else -1
    quoted = [(at, at + len(span.quote))] if at >= 0 else []
    also = (_nearest(text, span, words) for words in span.also) if quoted else ()
    return [(span.start, span.end), *quoted, *filter(None, also)]


def _nearest(text: str, span: SourceSpan, words: str) -> tuple[int, int] | None:
    """Words in the passage; footnotes may stand elsewhere in the document."""
    if inside := find_quote(text[span.start : span.end], words):
        return span.start + inside[0], span.start + inside[1]
    return find_quote(text, words)


def _title(name: str, page: int | None, heading: str, now: int | None, count: int) -> None:
    where = plain(page_name(name, page, heading, "· "))
    st.markdown(f"**{plain(name)}** {where}".strip())
    number = f"passage {now + 1} of {count}" if now is not None else ""
    st.caption(" · ".join(part for part in (plain(heading), number) if part))


def _switch(base: KnowledgeBase, document: Document) -> str:
    """The chosen view; no switch where there is only the text."""
    first = "Table" if is_table(document) else "Page" if is_printed(base, document) else TEXT
    if first == TEXT:
        return TEXT
    key = f"{first.lower()}_or_text"
    return switch("View of the document", [first, TEXT], key, label_visibility="collapsed")


def _page(
    base: KnowledgeBase,
    document: Document,
    home: int,
    marks: Sequence[tuple[int, int]],
    steps: st.delta_generator.DeltaGenerator,
) -> bool:
    """Draw the printed page; False where it cannot be drawn, and said why."""
    number = max(home + _stepped(LEAF), 1)
    pages = printed_page(base, document, number, marks)
    if pages:
        number = min(number, pages)
        with steps:
            _step("Previous page", "back", LEAF, number - 1 - home, number > 1)
            st.caption(f"page {number} of {pages:,}", width="content")
            _step("Next page", "forward", LEAF, number + 1 - home, number < pages)
    return bool(pages)


def _step(label: str, arrow: str, name: str, target: int, possible: bool) -> None:
    st.button(
        label,
        icon=f":material/arrow_{arrow}:",
        key=f"source_{label}",
        type="tertiary",
        disabled=not possible,
        on_click=_walk,
        args=(name, target),
    )


def _walk(name: str, steps: int) -> None:
    if name == WALK:
        forget_walk()
    to_url(name, str(steps) if steps else "")


def is_printed(base: KnowledgeBase, document: Document) -> bool:
    """Whether there are pages to show: a PDF whose file was kept."""
    return document.media_type == PRINTED and base.documents.original(document.id) is not None


def printed_page(
    base: KnowledgeBase, document: Document, number: int, marks: Sequence[tuple[int, int]]
) -> int:
    """Draw a page, marks by text offsets; return how many pages there are, 0 if it cannot."""
    drawn = _drawn(base, document, number, marks)
    if isinstance(drawn, str):
        st.caption(f":material/image_not_supported: {plain(drawn)} Here is its text instead.")
        return 0
    with st.container(border=True):
        # As the PNG that it is: Streamlit would make a JPEG of it at every rerun.
        description = _page_description(document, number, drawn)
        st.image(drawn.png, width="stretch", output_format="PNG", alt=description)
    if drawn.matched < _MOST_MATCHED and any(drawn.boxes):
        st.caption(f"{percent(drawn.matched)} of the passage was found on the page.")
    return drawn.pages


def _page_description(document: Document, number: int, drawn: PageImage) -> str:
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
