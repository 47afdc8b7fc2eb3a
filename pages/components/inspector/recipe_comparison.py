"""The question with another recipe beside: what moved, labels, and places on the page."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import streamlit as st

from pages.components.inspector import explanations
from pages.components.inspector.rank_flow import rank_flow
from pages.components.labels.grading import SET
from pages.components.metrics.cards import style
from pages.components.recipe.working_recipe import read_value
from pages.components.runs.questions import ranking
from pages.components.shell.buttons import switch
from pages.components.shell.charts import LIGHT
from pages.components.shell.session import cache_data, show, to_url
from pages.components.shell.text import clipped, plain
from pages.components.source.view import KEPT, is_printed
from rag import (
    Hit,
    InvalidRecipe,
    KnowledgeBase,
    PageImage,
    RankedPassage,
    Recipe,
    RetrievalComparison,
    TouchstoneError,
    Trace,
    changed_recipe,
    counted,
    signed,
)

AGAINST, CHANGES, RUN = "against", "changes", "against_run"
_SAVED, _CHANGED, _OF_RUN = "The saved recipe", "Changed fields", "A run's recipe"
_DEFAULT = "mode=dense"


def compare_view(base: KnowledgeBase, trace: Trace, recipe: Recipe) -> None:
    """Left the recipe that you work with, right the other one."""
    other = _other(base, recipe)
    if other is None:
        return
    differences = recipe.differences(other)
    if not differences:
        st.info("Both recipes are the same.", icon=":material/drag_handle:")
        return
    if base.documents.missing(other.index):
        st.info("The other recipe needs an index that is not built; build it on Documents.")
        return
    compared = explanations.compare(base, trace.question, recipe, other, st.session_state.get(SET))
    before, after = listed(compared)
    st.caption(_sentence(differences))
    _figures(compared, sum(passage.other is not None for passage in after))
    rank_flow(compared)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**As it is**")
        ranking(before, is_after=False)
    with right:
        st.markdown("**The other recipe**")
        ranking(after, is_after=True)
    _labels(compared)
    page_overlay(base, compared)


def _other(base: KnowledgeBase, recipe: Recipe) -> Recipe | None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = switch("Compare with", [_CHANGED, _SAVED, _OF_RUN], AGAINST)
        if kind == _SAVED:
            return base.recipe()
        if kind == _OF_RUN:
            return _of_run(base)
        text = st.text_input(
            "Fields",
            value=_DEFAULT,
            key=CHANGES,
            bind="query-params",
            help="As on the command line, more than one by comma: mode=dense, dense_weight=0.3",
        )
    return changed_recipe(recipe, fields=fields(text or ""))


def _of_run(base: KnowledgeBase) -> Recipe | None:
    runs = {run.id: run for run in base.runs.list_all() if run.recipe}
    if not runs:
        st.caption("No run yet: evaluate a question set on Metrics.")
        return None
    if (named := st.query_params.get(RUN, "")) in runs:
        show(RUN, named)
    chosen = st.selectbox(
        "Run",
        list(runs),
        key=RUN,
        on_change=lambda: to_url(RUN, st.session_state[RUN]),
        format_func=lambda name: f"{name} · {runs[name].question_set} · {runs[name].created:%d %b}",
    )
    return runs[chosen].recipe


def fields(text: str) -> dict[str, Any]:
    """``mode=dense, search.top_k=3`` as recipe fields. Raises InvalidRecipe."""
    changes = {}
    for change in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in change.partition("="))
        if not equals:
            raise InvalidRecipe(f"{change!r} has no value.", "Write it like mode=dense.")
        changes[name if "." in name else f"search.{name}"] = read_value(value)
    return changes


def _sentence(differences: dict[str, tuple[Any, Any]]) -> str:
    parts = [
        f"{name} {json.dumps(one)} → {json.dumps(other)}"
        for name, (one, other) in differences.items()
    ]
    return plain(" · ".join(parts))


def _figures(compared: RetrievalComparison, common: int) -> None:
    before, after = compared.shown_labels()
    one, two, three = st.columns(3)
    one.metric(
        "Rank-biased overlap",
        f"{compared.overlap:.2f}",
        help="1: the same list, 0: nothing in common; first places count most "
        "(Webber, Moffat, Zobel 2010, p = 0.9, extrapolated).",
    )
    two.metric("Shown by both", f"{common} of {len(compared.sides.after)}")
    if compared.labels:
        three.metric(
            "Labels found",
            f"{after} of {len(compared.labels)}",
            delta=signed(after - before, 0) if after != before else None,
            **style(after - before),
        )


def _labels(compared: RetrievalComparison) -> None:
    if not compared.labels:
        st.caption("No label says where this question is answered: grade passages above.")
        return
    st.dataframe(
        [
            {
                "label": ranked.label.quote or ranked.label.document_name,
                "document": ranked.label.document_name,
                "grade": ranked.label.grade,
                "as it is": ranked.before,
                "other": ranked.after,
            }
            for ranked in compared.labels
        ],
        hide_index=True,
        placeholder="not shown",
        column_config={"label": st.column_config.TextColumn("label", width="large")},
        alt="Labels, and the rank at which each recipe shows them.",
    )


def listed(compared: RetrievalComparison) -> tuple[list[RankedPassage], list[RankedPassage]]:
    """Both lists; a passage that the other one does not show has no rank there."""
    before, after = compared.sides.before, compared.sides.after
    return [_within(passage, after) for passage in before], [
        _within(passage, before) for passage in after
    ]


def _within(passage: RankedPassage, others: Sequence[RankedPassage]) -> RankedPassage:
    beyond = passage.other is not None and passage.other > len(others)
    return replace(passage, other=None) if beyond else passage


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
        document = base.documents.outline(document_id)
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
