"""Hands on the passages of a document: text left out, boundaries, and words that find it."""

from __future__ import annotations

from typing import cast

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import allowed, offered
from pages.components.shell.session import draft_key, draft_stored
from pages.components.shell.text import plain
from pages.components.shell.wording import shortened
from rag import DocumentInfo, EditKind, KnowledgeBase, StoredEdit, counted

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


def passage_edits(base: KnowledgeBase, info: DocumentInfo) -> None:
    """Draw the edits of a document's passages, and a form to add more."""
    edits, lost = base.passage_edits.of(info.id), base.passage_edits.lost()
    title = "Edit passages" + (f": {counted(len(edits), 'edit')}" if edits else "")
    with st.expander(title, icon=":material/content_cut:"):
        st.caption("Your edits apply to every index and to new versions of the document.")
        for edit in edits:
            _row(base, edit)
        if allowed(base, "passage_edits.add"):
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
        remove = base.passage_edits.remove
        options = offered(base, "passage_edits.remove", type="tertiary")
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
                span = base.passage_edits.find(info.id, quote or "")
                base.passage_edits.add(info.id, cast("EditKind", kind), span, words or "")
                draft_stored(drafts)
                st.rerun()
