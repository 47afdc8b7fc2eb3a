"""Checks of the documents against each other, and decisions about findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

import streamlit as st

from pages.components.documents.table import show_unread
from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.session import offered
from pages.components.shell.text import plain
from pages.components.source.places import snippet, tables_of, with_columns
from pages.components.source.view import forget_walk
from rag import (
    KIND_TITLES,
    DocumentFinding,
    FindingKind,
    FindingPlaceData,
    KnowledgeBase,
    SettlementData,
    counted,
    page_name,
    unmarked,
)

Item = TypeVar("Item")

_SHOWN = 10
_LONGEST = 400  # characters of a passage
_ICONS: dict[FindingKind, str] = {
    "editions": ":material/history:",
    "copies": ":material/file_copy:",
    "unreadable": ":material/broken_image:",
    "unread": ":material/hide_image:",
    "hub": ":material/hub:",
    "unanswered": ":material/help:",
    "unreached": ":material/visibility_off:",
}
_LABELS: dict[FindingKind, str] = {
    "editions": "Editions",
    "copies": "Copies",
    "unreadable": "Unreadable pages",
    "unread": "Not read",
    "hub": "Answers everything",
    "unanswered": "Still doubtful or refused",
    "unreached": "Never reached",
}
_KEPT = "examination_kept"  # state key of the message on what was kept
_EXCLUDED = "Excludes the other documents from passages."
_ADVICE: dict[FindingKind, str] = {
    "hub": "If such a passage is boilerplate, exclude it, so that it does not outrank content.",
    "unread": "The words shown stand behind the first part that was not read. If such a part "
    "matters, add it as a text of its own, or add the file in another format.",
    "unanswered": "If the nearest passage answers the question, inspect it to see why the "
    "answer is doubtful. If no document answers it, add one. The finding goes when "
    "the question is asked again and answered. Questions of other visitors are not shown.",
    "unreached": "Add questions about such a document, or remove it if it is not needed.",
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
    with st.spinner("Comparing the documents"):
        examination = base.documents.examinations.examine()
    if kept := st.session_state.pop(_KEPT, ""):
        st.success(plain(kept), icon=":material/check:")
    opened = examination.open
    if not opened:
        st.markdown(
            f"No open finding in {counted(examination.documents, 'document')}: no editions, "
            "copies or unreadable pages, and nothing that the last evaluation or the chat shows."
        )
    else:
        st.caption(
            f"{counted(len(opened), 'open finding')} in "
            f"{counted(examination.documents, 'document')}, the surest first. A settled finding "
            "comes back only if one of its texts changes."
        )
        _open_findings(base, opened)
    if examination.settled:
        with st.expander(f"{len(examination.settled)} settled"):
            for finding, row in _page(examination.settled, f"examination_settled_{base.id}"):
                _settled(base, finding, row)


def _open_findings(base: KnowledgeBase, opened: Sequence[DocumentFinding]) -> None:
    """Draw the findings of one kind, a page of them."""
    counts = Counter(finding.kind for finding in opened)
    kinds = [kind for kind in KIND_TITLES if counts[kind]]
    kind = st.pills(
        "Kind of finding",
        kinds,
        default=kinds[0],
        required=True,
        format_func=lambda one: f"{_LABELS[one]} ({counts[one]})",
        key=f"examination_kind_{base.id}",
        label_visibility="collapsed",
    )
    kind = kind if counts[kind] else kinds[0]  # the last one of the chosen kind was settled
    if advice := _ADVICE.get(kind):
        st.caption(advice)
    of_kind = [finding for finding in opened if finding.kind == kind]
    for finding in _page(of_kind, f"examination_{kind}_{base.id}"):
        _finding(base, finding)


def _page(items: Sequence[Item], key: str) -> Sequence[Item]:
    """Return the items of the page that is chosen above them."""
    pages = -(-len(items) // _SHOWN)
    number = 1
    if pages > 1:
        number = min(st.pagination(pages, key=f"{key}_{pages}") or 1, pages)
    return items[(number - 1) * _SHOWN : number * _SHOWN]


def _settled(base: KnowledgeBase, finding: DocumentFinding, row: SettlementData) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        kept = f"kept {row.document}" if row.document else row.reason or "ignored"
        st.caption(plain(f"{finding.summary} Decision: {kept}."), width="stretch")
        options = offered(base, "documents.examinations.reopen")
        key, reopen = f"examination_reopen_{finding.id}", base.documents.examinations.reopen
        action_button("Reopen", key, "undo", reopen, finding.id, **options)


def _finding(base: KnowledgeBase, finding: DocumentFinding) -> None:
    summary = f"{_ICONS[finding.kind]} {plain(finding.summary)}"
    with st.container(border=True):
        if finding.question:
            _unanswered(base, finding, summary)
            return
        shown = any(place.text for place in finding.places)
        if not shown and len(finding.places) < 2:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(summary, width="stretch")
                _ignore(base, finding)
            return
        st.markdown(summary)
        if len(finding.places) > 2:
            with st.expander(counted(len(finding.places), "document")):
                st.markdown("\n".join(f"- {plain(place.document)}" for place in finding.places))
        elif shown:
            for column, place in zip(st.columns(len(finding.places)), finding.places, strict=True):
                with column:
                    st.caption(plain(place.document + _page_of(base, place, ", ")))
                    st.markdown(f"> {_quoted(base, place)}")
        _decisions(base, finding)


def _unanswered(base: KnowledgeBase, finding: DocumentFinding, summary: str) -> None:
    """Draw a question with a doubtful or refused answer, with the passage that came nearest."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(summary, width="stretch")
        if st.button(
            "Inspect",
            key=f"examination_inspect_{finding.id}",
            icon=":material/troubleshoot:",
            **offered(base, "explanations.explain"),
        ):
            st.switch_page("inspector.py", query_params={"q": finding.question})
        _ignore(base, finding)
    if place := finding.nearest:
        st.caption(f"Nearest passage: {plain(place.document + _page_of(base, place, ', '))}")
        st.markdown(f"> {_quoted(base, place)}")


def _quoted(base: KnowledgeBase, place: FindingPlaceData) -> str:
    """The words of a place as Markdown; cells of a table have the names of their columns."""
    text, _ = with_columns(place.text, (), tables_of(base, place))
    return snippet(unmarked(text), (), _LONGEST)


def _page_of(base: KnowledgeBase, place: FindingPlaceData, before: str = "") -> str:
    """The page of a place after ``before``, or the name of its sheet; "" without pages."""
    outline = None if place.page is None else base.documents.outline(place.document_id)
    heading = outline.heading_at(place.start) if outline else ""
    return page_name(place.document, place.page, heading, before)


def _decisions(base: KnowledgeBase, finding: DocumentFinding) -> None:
    options = offered(base, "documents.examinations.settle")
    settle = partial(base.documents.examinations.settle, finding.id)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if len(finding.places) > 1:
            choices = finding.places
            if len(choices) > 2:
                key = f"examination_kept_{finding.id}"
                choices = (st.selectbox("Keep", choices, format_func=_name, key=key),)
            for place in choices:
                key = f"examination_keep_{finding.id}_{place.document_id[:8]}"
                keep = partial(_keep, base, finding, place)
                with_help = offered(base, "documents.examinations.settle", help=_EXCLUDED)
                action_button(f"Keep {plain(place.document)}", key, "check", keep, **with_help)
            with st.popover("Both are right", **offered(base, "documents.examinations.settle")):
                why = st.text_input("Why are both right?", key=f"examination_why_{finding.id}")
                both = partial(settle, "both", "", why)
                key = f"examination_both_{finding.id}"
                action_button("Settle", key, "done_all", both, **options)
        if finding.kind == "unread" and st.button(
            "Show the place",
            key=f"examination_show_{finding.id}",
            icon=":material/visibility:",
            on_click=forget_walk,
        ):
            place = finding.places[0]
            show_unread(base, place.document_id, place.start, place.end)
        if finding.kind == "hub":
            place = finding.places[0]
            span = place.start, place.end
            exclude = partial(base.documents.edit_passages, place.document_id, "exclude", span)
            key = f"examination_exclude_{finding.id}"
            action_button(
                "Exclude", key, "block", exclude, **offered(base, "documents.edit_passages")
            )
        _ignore(base, finding)


def _keep(base: KnowledgeBase, finding: DocumentFinding, kept: FindingPlaceData) -> None:
    """Settle a finding for one of its documents, and keep a message on what that means."""
    base.documents.examinations.settle(finding.id, "keep", kept.document_id)
    names = [place.document for place in finding.places if place.document_id != kept.document_id]
    what = f"{names[0]} is" if len(names) == 1 else f"{counted(len(names), 'document')} are"
    st.session_state[_KEPT] = (
        f"{what} now left out of search. You don't need to build an index. To see the effect "
        "on the metrics, evaluate again on the Metrics page. To undo the decision, click Reopen "
        "in the list of settled findings below."
    )


def _name(place: FindingPlaceData) -> str:
    return place.document


def _ignore(base: KnowledgeBase, finding: DocumentFinding) -> None:
    ignore = partial(base.documents.examinations.settle, finding.id, "ignore")
    options = offered(base, "documents.examinations.settle")
    action_button("Ignore", f"examination_ignore_{finding.id}", "visibility_off", ignore, **options)
