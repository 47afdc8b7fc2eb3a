"""The page overlay: passages of two recipes and the labels, painted on one printed page."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from pages.components.shell.palette import LIGHT
from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from pages.components.shell.wording import clipped
from pages.components.source.view import KEPT, is_printed
from rag import (
    Hit,
    KnowledgeBase,
    PageImage,
    RetrievalComparison,
    TouchstoneError,
    counted,
)

WIDTH = 620  # pixels; less where the window is narrower
_LONGEST = 120
_BAR, _FRAME = 0.006, 0.003  # shares of the page's width
_PADDING = 0.002

Painted = Literal["before", "after", "label"]
Boxes = Sequence[tuple[float, float, float, float]]


@dataclass(frozen=True, slots=True)
class OverlaySpan:
    """A span of a document that is painted; ``rank`` is that of a passage, None for a label."""

    document_id: str
    start: int
    end: int
    painted: Painted
    rank: int | None
    text: str


@dataclass(frozen=True, slots=True)
class PrintedPage:
    """A page of a document that has printed pages."""

    document_id: str
    name: str
    number: int


def page_overlay(base: KnowledgeBase, compared: RetrievalComparison) -> None:
    """Draw a page with both recipes' passages and the labels, and the table behind it."""
    pages = printed_pages(base, overlay_spans(compared))
    if not pages:
        return
    st.markdown("**Where on the page?**")
    page = st.selectbox(
        "Page",
        list(pages),
        key="overlay_page",
        format_func=lambda page: f"{page.name}, page {page.number}",
        label_visibility="collapsed",
        width=WIDTH,
    )
    spans = pages[page]
    marks = tuple((span.start, span.end) for span in spans)
    drawn = _drawn(base, page.document_id, page.number, marks)
    if isinstance(drawn, str):
        st.caption(f":material/image_not_supported: {plain(drawn)}")
    else:
        clean, marked = drawn
        description = _description(page, spans)
        with st.container(border=True, width=WIDTH):
            st.image(picture(clean, spans, marked.boxes), width="stretch", alt=description)
        st.caption(
            "Blue with a bar on the left: as it is. Orange with a bar on the right: the other "
            "recipe. Grey: both. Green frame: a label."
        )
    _table(spans)


def overlay_spans(compared: RetrievalComparison) -> list[OverlaySpan]:
    """Return the results of both recipes, best first, and the labels with a place."""
    spans = [
        OverlaySpan(
            hit.chunk.document_id, hit.chunk.start, hit.chunk.end, painted, rank, hit.chunk.text
        )
        for painted, trace in _sides(compared)
        for rank, hit in enumerate(trace, start=1)
    ]
    labels = (ranked.label for ranked in compared.labels)
    return spans + [
        OverlaySpan(label.document_id, label.start, label.end, "label", None, label.quote)
        for label in labels
        if label.document_id is not None and label.end is not None
    ]


def _sides(compared: RetrievalComparison) -> Iterator[tuple[Painted, Sequence[Hit]]]:
    yield "before", compared.before.hits
    yield "after", compared.after.hits


def printed_pages(
    base: KnowledgeBase, spans: Sequence[OverlaySpan]
) -> Mapping[PrintedPage, list[OverlaySpan]]:
    """Return the printed pages with their spans: those with labels first, then the fullest."""
    pages: dict[PrintedPage, list[OverlaySpan]] = {}
    for document_id in dict.fromkeys(span.document_id for span in spans):
        document = base.outline(document_id)
        if document is None or not is_printed(base, document):
            continue
        for span in spans:
            if span.document_id == document_id:
                for page in document.pages:
                    if page.start < span.end and span.start < page.end:
                        printed = PrintedPage(document_id, document.name, page.number)
                        pages.setdefault(printed, []).append(span)

    def order(page: PrintedPage) -> tuple[bool, int]:
        labelled = any(span.painted == "label" for span in pages[page])
        return not labelled, -len(pages[page])

    return {page: pages[page] for page in sorted(pages, key=order)}


def picture(clean: PageImage, spans: Sequence[OverlaySpan], boxes: Sequence[Boxes]) -> str:
    """Return an SVG of the page, whose paint lies over the ink like that of a highlighter."""
    width, height = clean.width, clean.height
    png = base64.b64encode(clean.png).decode()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">',
        f'<image href="data:image/png;base64,{png}" width="{width}" height="{height}"/>',
        *(
            shape
            for span, places in zip(spans, boxes, strict=True)
            for box in places
            for shape in _shapes(span.painted, box, width, height)
        ),
        "</svg>",
    ]
    return "".join(parts)


def _shapes(
    painted: Painted, box: tuple[float, float, float, float], width: int, height: int
) -> Iterator[str]:
    left, top = (box[0] - _PADDING) * width, (box[1] - _PADDING) * height
    right, bottom = (box[2] + _PADDING) * width, (box[3] + _PADDING) * height
    if painted == "label":
        style = f'fill="none" stroke="{LIGHT.relevant}" stroke-width="{_FRAME * width:.1f}"'
        yield _rectangle(left, top, right - left, bottom - top, style)
        return
    colour = LIGHT.dense if painted == "before" else LIGHT.lexical
    style = f'fill="{colour}" fill-opacity="0.25" style="mix-blend-mode:multiply"'
    yield _rectangle(left, top, right - left, bottom - top, style)
    bar = _BAR * width
    start = left - bar if painted == "before" else right
    yield _rectangle(start, top, bar, bottom - top, f'fill="{colour}"')


def _rectangle(left: float, top: float, width: float, height: float, style: str) -> str:
    return f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" {style}/>'


@cache_data(KEPT, show_spinner="Drawing the page")
def _drawn(
    base: KnowledgeBase, document_id: str, number: int, spans: Sequence[tuple[int, int]]
) -> tuple[PageImage, PageImage] | str:
    """The page without paint and with its boxes, or why there is none."""
    try:
        document = base.documents.document(document_id)
        clean = base.documents.page(document, number, ())
        return clean, base.documents.page(document, number, spans)
    except TouchstoneError as error:
        return error.message


def _description(page: PrintedPage, spans: Sequence[OverlaySpan]) -> str:
    before, after, labels = (
        sum(span.painted == painted for span in spans) for painted in ("before", "after", "label")
    )
    return (
        f"Page {page.number} of {page.name} with {counted(before, 'passage')} of the recipe as it "
        f"is, {after} of the other one and {counted(labels, 'label')}."
    )


def _table(spans: Sequence[OverlaySpan]) -> None:
    names = {"before": "as it is", "after": "other", "label": "label"}
    st.dataframe(
        [
            {
                "shown by": names[span.painted],
                "rank": span.rank,
                "text": clipped(" ".join(span.text.split()), _LONGEST),
            }
            for span in spans
        ],
        key="overlay_table",
        hide_index=True,
        placeholder="–",
        column_config={"text": st.column_config.TextColumn("text", width="large")},
        alt="Passages and labels on this page, with the ranks of the passages.",
    )
