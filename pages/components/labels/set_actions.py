"""A question set under another name, or gone."""

from __future__ import annotations

import streamlit as st

from pages.components.labels.question_sets import choose_set
from pages.components.shell.guard import guard
from pages.components.shell.wording import counted
from rag import KnowledgeBase, QuestionSet


def manage_button(base: KnowledgeBase, chosen: QuestionSet) -> None:
    """A button that opens the dialog."""
    if st.button("Rename or delete", key="set_manage", icon=":material/edit_note:"):
        _manage(base, chosen)


@st.dialog("Rename or delete", icon=":material/edit_note:")
def _manage(base: KnowledgeBase, chosen: QuestionSet) -> None:
    given = st.text_input("Name of the set", chosen.name, max_chars=80, key="set_name")
    name = (given or "").strip()
    if st.button("Rename", key="set_rename", disabled=name in ("", chosen.name)):
        with guard():
            base.question_edits.rename_set(chosen.name, name)
            choose_set(name)
            st.rerun()
    st.divider()
    st.caption(
        f"Deleting takes {counted(chosen.questions, 'question')} with all labels away for good. "
        "Runs that were measured with them stay."
    )
    sure = st.checkbox("Yes, delete the questions and their labels", key="set_sure")
    if st.button("Delete", key="set_delete", type="primary", disabled=not sure):
        with guard():
            base.question_edits.delete_set(chosen.name)
            st.rerun()
