"""Checks the documents against each other, and settles findings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.text import plain
from rag import (
    KIND_TITLES,
    DocumentFinding,
    Examination,
    FindingPlace,
    KnowledgeBase,
    counted,
)

_SHOWN = 10
_ICONS = {
    "contradiction": ":material/difference:",
    "editions": ":material/history:",
    "copies": ":material/file_copy:",
    "unreadable": ":material/broken_image:",
}


def examination_view(base: KnowledgeBase) -> None:
    """Draw a section that examines the documents when it is opened."""
    more = st.expander(
        "Check your documents",
        icon=":material/fact_check:",
        key=f"documents_examination_{base.id}",
        on_change="rerun",
    )
    if more.open:
        with more, guard():
            _findings(base)


def _findings(base: KnowledgeBase) -> None:
    examination = _examined(base)
    opened = examination.open
    if not opened:
        st.markdown(
            f"No open finding in {counted(examination.documents, 'document')}: no contradictions, "
            "editions, copies or unreadable pages."
        )
    else:
        st.caption(
            f"{counted(len(opened), 'open finding')} in "
            f"{counted(examination.documents, 'document')}, the surest first. A settled finding "
            "comes back only if one of its texts changes."
        )
    for finding in opened[:_SHOWN]:
        _finding(base, finding)
    if len(opened) > _SHOWN:
        st.caption(f"Settle these to see {counted(len(opened) - _SHOWN, 'more finding')}.")
    if examination.settled:
        st.markdown("**Settled**")
    for finding, row in examination.settled[:_SHOWN]:
        with st.container(horizontal=True, vertical_alignment="center"):
            kept = f"kept {row.document}" if row.document else row.reason or "ignored"
            st.caption(plain(f"{finding.summary} Decision: {kept}."), width="stretch")
            reopen = partial(_forget_and, base, base.examinations.reopen)
            options = offered(base, "examinations.reopen")
            key = f"examination_reopen_{finding.id}"
            action_button("Reopen", key, "undo", reopen, finding.id, **options)


def _finding(base: KnowledgeBase, finding: DocumentFinding) -> None:
    with st.container(border=True):
        st.markdown(
            f"{_ICONS[finding.kind]} **{KIND_TITLES[finding.kind]}.** " + plain(finding.summary)
        )
        if finding.differences:
            with st.expander(counted(len(finding.differences), "difference")):
                st.dataframe(
                    [
                        {
                            finding.places[0].document: _words(finding, one.one, one.other, 0),
                            finding.places[1].document: _words(finding, one.one, one.other, 1),
                        }
                        for one in finding.differences
                    ],
                    hide_index=True,
                    alt="Figures that differ between two editions, with their sentences.",
                )
        elif finding.places[0].text:
            for column, place in zip(st.columns(len(finding.places)), finding.places, strict=True):
                with column:
                    page = f", page {place.page}" if place.page is not None else ""
                    st.caption(plain(place.document + page))
                    st.markdown(f"> {plain(place.text)}")
        _decisions(base, finding)


def _words(finding: DocumentFinding, one: FindingPlace, other: FindingPlace, at: int) -> str:
    """The words of a difference that are in the document of one column."""
    return one.text if one.document_id == finding.places[at].document_id else other.text


def _decisions(base: KnowledgeBase, finding: DocumentFinding) -> None:
    options = offered(base, "examinations.settle")
    settle = partial(_forget_and, base, base.examinations.settle, finding.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(finding.places) > 1:
            for place in finding.places:
                key = f"examination_keep_{finding.id}_{place.document_id[:8]}"
                keep = partial(settle, "keep", place.document_id)
                action_button(f"Keep {plain(place.document)}", key, "check", keep, **options)
            with st.popover("Both are right", **offered(base, "examinations.settle")):
                why = st.text_input("Why are both right?", key=f"examination_why_{finding.id}")
                both = partial(settle, "both", "", why)
                key = f"examination_both_{finding.id}"
                action_button("Settle", key, "done_all", both, **options)
        key = f"examination_ignore_{finding.id}"
        action_button("Ignore", key, "visibility_off", partial(settle, "ignore"), **options)


def _examined(base: KnowledgeBase) -> Examination:
    """The examination of the present documents, kept until they change or a finding is settled."""
    key, version = _kept(base), base.version()
    kept: tuple[int, Examination] | None = st.session_state.get(key)
    if kept is None or kept[0] != version:
        with st.spinner("Comparing the documents"):
            kept = st.session_state[key] = version, base.examinations.examine()
    return kept[1]


def _forget_and(base: KnowledgeBase, act: Callable[..., None], *arguments: str) -> None:
    st.session_state.pop(_kept(base), None)
    act(*arguments)


def _kept(base: KnowledgeBase) -> str:
    return f"documents_examined_{base.id}"
