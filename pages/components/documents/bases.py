"""All knowledge bases: what each holds, and to open, rename, duplicate, delete or make one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.buttons import action_button, confirm_button, dialog, filled_button
from pages.components.shell.door import choose, new_base_button
from pages.components.shell.guard import guard, notices
from pages.components.shell.job_progress import reading
from pages.components.shell.session import bases, chosen_base, offered, oldest, workspace
from pages.components.shell.tables import pick_rows
from pages.components.shell.text import plain
from rag import BaseOverview, KnowledgeBase, counted

_TALLEST = 290  # pixels


def bases_view() -> None:
    """The table where there are several, and what can be done with the picked or chosen one."""
    if not bases():
        new_base_button("documents_new")
        return
    overviews, chosen = workspace().overview(), chosen_base().name
    number = next((at for at, overview in enumerate(overviews) if overview.name == chosen), 0)
    with st.expander(
        f"{counted(len(overviews), 'knowledge base')}: {plain(chosen)} is open",
        icon=":material/database:",
        key="documents_bases",
    ):
        picked = _table(overviews) if len(overviews) > 1 else None
        overview = overviews[number if picked is None else picked]
        with st.container(horizontal=True, gap="small"):
            if overview.name != chosen:
                name = plain(overview.name)
                action_button(
                    f"Open {name}", "documents_open", "folder_open", choose, overview.name
                )
            options = offered(overview, "rename", key="documents_rename", icon=":material/edit:")
            if st.button("Rename", **options):
                _rename(overview)
            icon = ":material/content_copy:"
            options = offered(overview, "duplicate", key="documents_duplicate", icon=icon)
            if st.button("Duplicate", **options):
                _duplicate(overview)
            icon = ":material/delete:"
            options = offered(overview, "delete", key="documents_delete_base", icon=icon)
            if st.button("Delete", **options):
                _confirm_delete(overview)
            new_base_button("documents_new")
        st.caption(f"Rename, Duplicate and Delete apply to **{plain(overview.name)}**.")


def _table(overviews: Sequence[BaseOverview]) -> int | None:
    """Draw the table; return the picked row."""
    rows = [
        {
            "Name": overview.name,
            # The job says how far it is: the table stays as it is until the next click.
            "Documents": None if reading(overview.id) else overview.documents,
            "Passages": None if reading(overview.id) else overview.passages,
            "Questions": overview.questions,
            "Last run": overview.last_run,
        }
        for overview in overviews
    ]
    names = "|".join(overview.name for overview in overviews)
    picked = pick_rows(
        rows,
        f"documents_bases_{hash(names)}",
        [],
        "single-row",
        height=_TALLEST if len(overviews) > 7 else "auto",
        column_config={
            "Name": st.column_config.TextColumn(width="medium"),
            # Narrower columns would cut the digits, and a part of a number looks like another one.
            **{
                name: st.column_config.NumberColumn(format="localized", width="small")
                for name in ("Documents", "Passages", "Questions")
            },
            "Last run": st.column_config.DatetimeColumn(format="distance"),
        },
        alt="Knowledge bases with documents, passages, questions and the last run.",
    )
    return next((at for at in picked if at < len(overviews)), None)


@dialog("Rename the knowledge base", icon=":material/edit:")
def _rename(overview: BaseOverview) -> None:
    st.caption("Links with the old name stop working.")
    with st.form("documents_rename_form", border=False):
        st.text_input("Name", overview.name, key="documents_new_name", max_chars=80)
        key, draw = "documents_rename_go", st.form_submit_button
        confirm_button("Rename", key, _renamed, overview, draw=draw)


def _renamed(overview: BaseOverview) -> None:
    name, was_chosen = (
        st.session_state["documents_new_name"].strip(),
        chosen_base().id == overview.id,
    )
    workspace().rename(overview.id, name)
    if was_chosen:
        choose(name)


@dialog("Duplicate the knowledge base", icon=":material/content_copy:")
def _duplicate(overview: BaseOverview) -> None:
    st.caption(
        "The copy has its documents, recipes, prompts, question sets and labels, and none of its "
        "runs, members and conversations."
    )
    with st.form("documents_duplicate_form", border=False):
        st.text_input(
            "Name of the copy", f"{overview.name} 2", key="documents_copy_name", max_chars=80
        )
        key, draw = "documents_duplicate_go", st.form_submit_button
        confirm_button("Duplicate", key, _duplicated, overview.id, draw=draw)


def _duplicated(base_id: int) -> None:
    copy, _ = workspace().duplicate(base_id, st.session_state["documents_copy_name"])
    choose(copy.name)


@dialog("Delete this knowledge base?", icon=":material/delete:")
def _confirm_delete(overview: BaseOverview) -> None:
    name = overview.name
    notices()
    if not any(info.id == overview.id for info in workspace().bases()):
        st.rerun()  # deleted: by the button below, or in another tab
    sizes = _contents(workspace().base_with_id(overview.id))
    st.markdown(
        f"This permanently deletes **{plain(name)}** with everything in it: {sizes}, all "
        "labels and conversations."
    )
    typed = st.text_input(f"Type {plain(name)} to confirm", key="documents_delete_name")
    filled_button(
        "Delete for good",
        key="documents_delete_really",
        disabled=typed.strip() != name,
        on_click=_delete,
        args=(overview.id,),
    )


def _contents(base: KnowledgeBase) -> str:
    indexes = len(base.documents.builds())
    sizes = (
        counted(len(base.documents.documents(base.recipe().index)), "document"),
        "1 index" if indexes == 1 else f"{indexes} indexes",
        counted(len(base.questions.list_all()), "question set"),
        counted(len(base.runs.list_all()), "run"),
    )
    return ":gray[" + " · ".join(sizes) + "]"


def _delete(base_id: int) -> None:
    with guard(in_dialog=True):
        was_chosen = chosen_base().id == base_id
        workspace().delete(base_id)
        remaining = workspace().bases()
        if was_chosen and remaining:
            choose(oldest(remaining).name)
