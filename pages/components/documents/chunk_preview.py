"""A preview of the chunks of a document under two recipes, before anything is embedded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import mean, median

import streamlit as st

from pages.components.documents.passage_edits import passage_edits
from pages.components.recipe.index_builds import build_button
from pages.components.recipe.index_form import index_form, reset_index_form
from pages.components.shell.buttons import action_button, download_button
from pages.components.shell.charts import Figure, draw_chart, empty_figure
from pages.components.shell.palette import palette
from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from pages.components.shell.wording import cut, kind
from pages.components.source.passages import draw_passages
from rag import Chunk, Document, DocumentInfo, IndexRecipe, KnowledgeBase, counted

_FORM = "documents"
_BINS = 24
_FEW = 5


def chunk_preview(base: KnowledgeBase, info: DocumentInfo) -> None:
    """The picked document: its text in passages, their sizes, and a form for another index."""
    stored, document = base.recipe().index, base.documents.document(info.id)
    st.header(plain(info.name), divider="gray")
    _about(base, info)
    passage_edits(base, info)
    left, right = st.columns([3, 2], gap="large")
    with right:
        proposal = index_form(stored, _FORM)
        proposed = _chunks(base, info.id, proposal)
        present = base.documents.chunks(info.id, stored)
        _sizes(base, document, proposal, proposed, present)
        if proposal != stored:
            build_button(base, proposal, "documents_build_cut")
            label, key = "Reset", "documents_cut_reset"
            action_button(label, key, "undo", reset_index_form, stored, _FORM, type="tertiary")
    with left:
        st.caption(_caption(proposal, stored))
        draw_passages(document.text, proposed, f"documents_window_{info.id[:12]}")


def _about(base: KnowledgeBase, info: DocumentInfo) -> None:
    pages = [counted(info.pages, "page")] if info.pages else []
    facts = [kind(info.media_type), *pages, f"{info.characters:,} characters"]
    if info.date:
        facts.append(f"dated {plain(info.date)}")
    with st.container(horizontal=True, vertical_alignment="center"):
        source = f" · {plain(info.source)}" if info.source else ""
        st.caption(" · ".join(facts) + source, width="stretch")
        original = base.documents.original(info.id)
        if original is not None:
            key = f"documents_original_{info.id[:12]}"
            download_button("Original", original.read_bytes, info.name, key, type="tertiary")


@cache_data(64)
def _chunks(base: KnowledgeBase, document_id: str, recipe: IndexRecipe) -> list[Chunk]:
    return list(base.documents.preview(base.documents.document(document_id), recipe))


def _caption(proposal: IndexRecipe, stored: IndexRecipe) -> str:
    if proposal.cut == stored.cut:
        return f"As indexed: {cut(stored)}."
    return f"Preview: {cut(proposal)}. Indexed: {cut(stored)}."


def _sizes(
    base: KnowledgeBase,
    document: Document,
    proposal: IndexRecipe,
    proposed: Sequence[Chunk],
    present: Sequence[Chunk],
) -> None:
    lengths = base.documents.sizes(document, proposed, proposal)
    is_other = proposal.cut != base.recipe().index.cut
    before = base.documents.sizes(document, present, proposal) if is_other else []
    if not lengths:
        st.caption("This document has no text.")
        return
    st.markdown(_takeaway(lengths, before, proposal.unit))
    draw_chart(
        _histogram(lengths, before, proposal.unit),
        "documents_sizes",
        f"Histogram of passage sizes in {proposal.unit}. {_summary(lengths)}.",
    )


def _takeaway(lengths: Sequence[int], before: Sequence[int], unit: str) -> str:
    text = f"**{counted(len(lengths), 'passage')}**, {_summary(lengths)} {unit}"
    stored = f"; stored: {counted(len(before), 'passage')}, {_summary(before)}" if before else ""
    return f"{text}{stored}."


def _summary(lengths: Sequence[int]) -> str:
    return f"mean {mean(lengths):.0f}, median {median(lengths):.0f}"


def _ticks(step: int, *sizes: Sequence[int]) -> dict[str, int]:
    """One at every count where the bars are low, or plotly would draw halves of passages."""
    bars = (Counter(size // step for size in lengths).values() for lengths in sizes if lengths)
    return {"dtick": 1} if max(map(max, bars)) <= _FEW else {"nticks": 5}


def _histogram(lengths: Sequence[int], before: Sequence[int], unit: str) -> Figure:
    colours = palette()
    step = max(1, -(-max([*lengths, *before]) // _BINS))
    bins = {"start": 0, "size": step}
    figure = empty_figure(colours, height=210, barmode="overlay")
    if before:
        figure.add_histogram(
            x=before, xbins=bins, name="stored", marker={"color": colours.not_relevant}
        )
    figure.add_histogram(
        x=lengths,
        xbins=bins,
        name="preview" if before else "stored",
        marker={"color": colours.accent},
        opacity=0.75 if before else 1,
    )
    figure.update_layout(
        xaxis={"title": f"size ({unit})", "rangemode": "tozero"},
        yaxis={"title": "passages", "tickformat": ",d", "minallowed": 0}
        | _ticks(step, lengths, before),
        showlegend=bool(before),
        bargap=0.05,
    )
    return figure
