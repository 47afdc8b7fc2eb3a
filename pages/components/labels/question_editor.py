"""The questions of a set as a table to edit, and how they are split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from pages.components.shell.buttons import cancel_button, filled_button
from pages.components.shell.guard import guard
from pages.components.shell.notices import notices
from pages.components.shell.permission import offered
from pages.components.shell.wording import clipped
from rag import KnowledgeBase, QuestionRow, TouchstoneError, counted

_COUNTED_WITH = "Counted with"
_LONGEST = 80  # characters of the first question of a group
_TABLE, _LOADED, _GROUPS = "questions_table", "questions_loaded", "questions_groups"


def edit_button(base: KnowledgeBase, set_name: str) -> None:
    """A button that opens the table."""
    icon, path = ":material/edit:", "questions.save_table"
    if st.button("Edit questions", **offered(base, path, key="questions_edit", icon=icon)):
        # As it was when it was opened: edits count rows, and others may change the set meanwhile.
        st.session_state[_LOADED] = [
            QuestionRow(item.id, item.text, item.answerable, item.tags, item.group, item.answer)
            for item in base.questions.labelled(set_name)
        ]
        st.session_state[_GROUPS] = base.questions.groups(set_name)
        _edit(base, set_name)


@st.dialog("Edit questions", icon=":material/edit:", width="large", dismissible=False)
def _edit(base: KnowledgeBase, set_name: str) -> None:
    before: list[QuestionRow] = st.session_state[_LOADED]
    st.caption(
        "Edit a text, add a row at the end, or select rows to delete them. Labels stay with "
        "their question. Saving makes a new version of the set."
    )
    groups = _group_names(before, st.session_state[_GROUPS])
    st.caption(_grouped(groups))
    edited = st.data_editor(
        [_shown(row, groups) for row in before],
        key=_TABLE,
        num_rows="dynamic",
        hide_index=True,
        height=380,
        column_config={
            "id": None,
            "Question": st.column_config.TextColumn(required=True, width="large"),
            "Answerable": st.column_config.CheckboxColumn(
                default=True, help="Whether the documents answer it."
            ),
            "Expected answer": st.column_config.TextColumn(
                help="The correct answer. Answers are compared with it."
            ),
            "Tags": st.column_config.TextColumn(help="Separated by semicolons."),
            "Group": st.column_config.TextColumn(
                help="A name for questions that depend on each other. If empty, the group "
                "follows from source and words, as in the next column. A hyphen makes "
                "the question independent."
            ),
            _COUNTED_WITH: st.column_config.TextColumn(
                disabled=True,
                help="The group that counts, once saved: its name, or its first question if the "
                "group was found. These questions share a label's document or passage, or most of "
                "their words, so tests count them as one observation.",
            ),
        },
    )
    with st.container(horizontal=True, gap="small"):
        # Not a callback: it would be given the table as it was drawn last.
        save = filled_button("Save", key="questions_save")
        cancel_button("questions_cancel", by_escape=not any(st.session_state[_TABLE].values()))
    if save:
        with guard():
            base.questions.save_table(set_name, before, read_rows(edited))
            st.rerun()
    _split(base, set_name)


def _grouped(groups: Mapping[str, str]) -> str:
    """Describe the number of groups and their effect."""
    if not groups:
        return "All questions are independent: none share a source or words."
    return (
        f"{counted(len(groups), 'question')} share a source or their words with others, in "
        f"{counted(len(set(groups.values())), 'group')}. A group counts as one observation in "
        "tests and intervals, and stays on one side of the split."
    )


def _group_names(rows: Sequence[QuestionRow], groups: Mapping[str, str]) -> dict[str, str]:
    """Groups by question id; those that were found have the text of their first question."""
    first = {f"as {row.id}": f"“{clipped(row.text, _LONGEST)}”" for row in rows}
    given = {row.id for row in rows if row.group}
    return {
        name: group if name in given else first.get(group, group) for name, group in groups.items()
    }


def _shown(row: QuestionRow, groups: Mapping[str, str]) -> dict[str, object]:
    return {
        "id": row.id,
        "Question": row.text,
        "Answerable": row.answerable,
        "Expected answer": row.answer,
        "Tags": "; ".join(row.tags),
        "Group": row.group,
        _COUNTED_WITH: groups.get(row.id, ""),
    }


def read_rows(edited: Sequence[Mapping[str, Any]]) -> list[QuestionRow]:
    """The table as it was edited; empty rows are left out."""
    return [
        QuestionRow(
            str(row.get("id") or ""),
            str(row["Question"]),
            row.get("Answerable") is not False,
            tuple(tag.strip() for tag in str(row.get("Tags") or "").split(";") if tag.strip()),
            str(row.get("Group") or "").strip(),
            str(row.get("Expected answer") or "").strip(),
        )
        for row in edited
        if row.get("Question")
    ]


def _split(base: KnowledgeBase, set_name: str) -> None:
    """Draw the split into tuning and held-out questions, with its share and seed.

    The same share and seed give the same split on every machine.
    """
    stored = base.questions.named(set_name)
    st.markdown("**Tuning and held-out questions**")
    try:
        parts = base.questions.split(set_name)
    except TouchstoneError as error:
        st.caption(f"{error.message} {error.hint}")
        return
    st.caption(
        f"{counted(len(parts.tuning), 'question')} to tune on, {len(parts.held_out):,} held out to "
        "report on."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        share = st.slider(
            "Share to tune on", 0.2, 0.8, stored.split_share, 0.05, key="questions_share"
        )
        seed = st.number_input("Seed", 0, 9999, stored.split_seed, key="questions_seed", width=120)
        # Drawn again by the click itself, with the table as it was edited so far.
        st.button(
            "Split again",
            key="questions_split",
            icon=":material/shuffle:",
            on_click=guard(in_dialog=True)(base.questions.set_split),
            args=(set_name, int(seed), float(share)),
        )
    notices()
