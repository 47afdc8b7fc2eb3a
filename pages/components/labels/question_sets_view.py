"""The question sets of a knowledge base: a table of them, and what can be done with one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.labels import question_sets
from pages.components.labels.question_editor import edit_button
from pages.components.labels.question_proposals import make_button, proposals
from pages.components.shell.text import plain
from rag import KnowledgeBase, QuestionSet, Recipe, counted

_TABLE = "question_sets_table"


def question_sets_view(
    base: KnowledgeBase, sets: Sequence[QuestionSet], chosen: QuestionSet, recipe: Recipe
) -> None:
    """Draw the table of sets, actions on the chosen one, and what waits in it for a decision."""
    with st.container(horizontal=True, gap="small"):
        if question_sets.import_button(base):
            question_sets.import_dialog(base)
        make_button(base, chosen.name, recipe)
    _table(base, sets)
    st.subheader(plain(chosen.name))
    st.caption(f"{question_count(chosen)}.")
    with st.container(horizontal=True, gap="small"):
        edit_button(base, chosen.name)
        question_sets.manage_button(base, chosen)
        question_sets.versions_button(base, chosen)
        with st.popover("Export questions", icon=":material/download:"):
            question_sets.export_buttons(base, chosen.name)
    if chosen.proposed:
        proposals(base, chosen.name)


def question_count(chosen: QuestionSet) -> str:
    """``28 questions, 4 of them without an answer in the documents``."""
    unanswerable = chosen.questions - chosen.answerable
    size = counted(chosen.questions, "question")
    if not unanswerable:
        return size
    return f"{size}, {unanswerable:,} of them without an answer in the documents"


def _table(base: KnowledgeBase, sets: Sequence[QuestionSet]) -> None:
    names = [item.name for item in sets]
    key = f"{_TABLE}_{base.id}"

    def pick() -> None:
        rows = st.session_state[key].selection.rows
        if rows and rows[0] < len(names):
            question_sets.choose_set(names[rows[0]])

    st.dataframe(
        [
            {
                "Name": item.name,
                "Questions": item.questions,
                "Answerable": item.answerable,
                "From chats": item.from_users,
                "To decide": item.proposed,
                "Version": item.version,
                "Changed": item.changed,
            }
            for item in sets
        ],
        key=key,
        hide_index=True,
        on_select=pick,
        selection_mode="single-row",
        column_config={
            "Name": st.column_config.TextColumn(width="medium"),
            "To decide": st.column_config.NumberColumn(help="Proposed questions to accept."),
            "Changed": st.column_config.DatetimeColumn(format="distance"),
        },
        alt="Question sets with their numbers of questions, version and last change.",
    )
