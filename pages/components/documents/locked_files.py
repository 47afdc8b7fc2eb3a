"""Encrypted PDFs that were added: each waits in a row for its password."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.guard import guard, show_error
from pages.components.shell.permission import allowed
from pages.components.shell.text import plain
from rag import KnowledgeBase, LockedFile, TouchstoneError

Follow = Callable[[int], object]
"""A callback that gets the id of the job that reads an opened file."""


def locked_rows(base: KnowledgeBase, follow: Follow) -> None:
    """A row for every file that waits, with a field for its password."""
    for locked in base.documents.locked_files():
        with st.container(border=True):
            st.markdown(f":orange[:material/lock:] **{plain(locked.name)}** {plain(locked.reason)}")
            if allowed(base, "documents.open_locked_file"):
                _row(base, locked, follow)


def _row(base: KnowledgeBase, locked: LockedFile, follow: Follow) -> None:
    key = f"{locked.job_id}_{locked.position}"
    with (
        st.form(f"documents_unlock_{key}", border=False),
        st.container(horizontal=True, vertical_alignment="bottom"),
    ):
        st.text_input(
            "Password",
            key=f"documents_password_{key}",
            type="password",
            autocomplete="off",
            help="Used once, to store a copy without encryption. The password is not kept.",
        )
        st.form_submit_button(
            "Read again",
            icon=":material/lock_open:",
            on_click=_open,
            args=(base, locked, key, follow),
        )
    refusal = st.session_state.pop(f"documents_refusal_{key}", None)
    if refusal is not None:
        show_error(*refusal)
    action_button(
        "Leave it out",
        f"documents_leave_out_{key}",
        "close",
        base.documents.leave_out_locked_file,
        locked,
        type="tertiary",
        help="Deletes the file that waits here.",
    )


def _open(base: KnowledgeBase, locked: LockedFile, key: str, follow: Follow) -> None:
    """Read a file with the password typed, which the session forgets before anything else."""
    field = f"documents_password_{key}"
    password = st.session_state[field]
    st.session_state[field] = ""
    with guard(in_dialog=True):
        try:
            follow(base.documents.open_locked_file(locked, password))
        except TouchstoneError as error:
            st.session_state[f"documents_refusal_{key}"] = error.message, error.hint
