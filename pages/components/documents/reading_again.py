"""Documents that newer readers would read better, and the button that has them read again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.permission import offered
from rag import KnowledgeBase, counted

Follow = Callable[[int], None]
"""Shows how far a job is."""


def reading_again(base: KnowledgeBase, follow: Follow) -> None:
    """Says which documents an earlier version has read, where there are any."""
    outdated = base.documents.again.outdated()
    with_file = [document for document in outdated if document.kept]
    if with_file:
        with st.container(border=True):
            st.markdown(
                f":orange[:material/update:] {counted(len(with_file), 'document')} can be read "
                "better now than when they were added, with their tables for example. Labels look "
                "for their words in the new text; those that are lost are listed."
            )
            options = offered(base, "documents.add_files")
            read = partial(_read, base, follow)
            action_button("Read again", "documents_read_again", "refresh", read, **options)
    if len(outdated) > len(with_file):
        st.caption(
            f"{counted(len(outdated) - len(with_file), 'document')} of an earlier version "
            "came without a file: add it again to have it read by the present readers."
        )


def _read(base: KnowledgeBase, follow: Follow) -> None:
    follow(base.documents.again.queue())
