"""A preview of the chunks of a document under two recipes, before anything is embedded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from statistics import mean, median
from typing import cast

import streamlit as st

from pages.components.documents.add import followed
from pages.components.documents.first_upload import draw_passages
from pages.components.documents.table import SHOWN, draw_encodings, draw_receipt
from pages.components.recipe.index_builds import build_button, index_form, reset_index_form
from pages.components.shell.buttons import action_button, download_button
from pages.components.shell.charts import Figure, draw_chart, empty_figure, palette
from pages.components.shell.guard import guard
from pages.components.shell.session import allowed, cache_data, draft_key, draft_stored, offered
from pages.components.shell.text import cut, kind, plain, shortened
from rag import (
    Chunk,
    Document,
    DocumentInfo,
    EditKind,
    IndexRecipe,
    KnowledgeBase,
    StoredEdit,
    counted,
)

_FORM = "documents"
_BINS = 24
_FEW = 5

_KINDS: dict[str, str] = {
    "exclude": "Leave it out of search",
    "split": "Let a passage begin here",
    "join": "Keep it in one passage",
    "words": "Find it by other words too",
}
_DONE = {
    "exclude": "Left out",
    "split": "A passage begins at",
    "join": "In one passage",
    "words": "Also found by",
}
_LONG = 100
_ALL_EXCLUDED = (
    "All text of this document is left out of search. To include it again, reopen the finding "
    "under *settled* in *Check your documents*, or click *Take back* in *Edit passages* above."
)


def chunk_preview(base: KnowledgeBase, info: DocumentInfo) -> None:
    """The picked document: its text in passages, their sizes, and a form for another index."""
    stored, document = base.recipe().index, base.documents.document(info.id)
    st.header(plain(info.name), anchor=SHOWN, divider="gray")
    _about(base, info)
    if info.receipt is not None:
        draw_receipt(base, info.id, info.receipt)
        read_again = partial(_read_again, base, info.id)
        draw_encodings(info.receipt, read_again, **offered(base, "documents.add_files"))
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
        if proposed:
            st.caption(_caption(proposal, stored))
            draw_passages(document.text, proposed, f"documents_window_{info.id[:12]}")
        else:
            st.caption(_ALL_EXCLUDED if document.text.strip() else "This document has no text.")


def _read_again(base: KnowledgeBase, document_id: str, encoding: str) -> None:
    with guard():
        followed()[base.id] = base.documents.read_again([document_id], encoding)


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


def passage_edits(base: KnowledgeBase, info: DocumentInfo) -> None:
    """Draw the edits of a document's passages, and a form to add more."""
    edits, lost = base.documents.passage_edits(info.id), base.documents.lost_edits()
    title = "Edit passages" + (f": {counted(len(edits), 'edit')}" if edits else "")
    with st.expander(title, icon=":material/content_cut:"):
        st.caption("Your edits apply to every index and to new versions of the document.")
        for edit in edits:
            _row(base, edit)
        if allowed(base, "documents.edit_passages"):
            _form(base, info)
        if lost:
            st.caption("Without the text here that they are about:")
        for edit in lost:
            _row(base, edit, f" in {edit.document_name}")


def _row(base: KnowledgeBase, edit: StoredEdit, where: str = "") -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        words = f" **{plain(edit.words)}**" if edit.words else ""
        quote = plain(shortened(edit.quote, _LONG))
        st.markdown(f"{_DONE[edit.kind]}{words}: “{quote}”{plain(where)}", width="stretch")
        key = f"documents_edit_{edit.id}"
        remove = base.documents.remove_edit
        options = offered(base, "documents.remove_edit", type="tertiary")
        action_button("Take back", key, "undo", remove, edit.id, **options)


def _form(base: KnowledgeBase, info: DocumentInfo) -> None:
    part = info.id[:12]
    drafts = f"documents_edit_{part}"
    with st.form(f"documents_edit_form_{part}", border=False):
        kind = st.selectbox(
            "What to do",
            list(_KINDS),
            format_func=_KINDS.get,
            key=f"documents_edit_kind_{part}",
        )
        quote = st.text_area(
            "Words of the document",
            key=draft_key(drafts, f"documents_edit_quote_{part}"),
            placeholder="Copy them from the text below",
            height=80,
        )
        words = st.text_input(
            "Other words",
            key=draft_key(drafts, f"documents_edit_words_{part}"),
            help="Synonyms or part numbers: indexed with these passages, and not shown. Only for "
            "the last choice.",
        )
        if st.form_submit_button("Apply", icon=":material/check:"):
            with guard():
                span = base.documents.find_quote(info.id, quote or "")
                base.documents.edit_passages(info.id, cast("EditKind", kind), span, words or "")
                draft_stored(drafts)
                st.rerun()
