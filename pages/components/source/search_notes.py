"""What a search could not do, for the eye that has not looked at its stages."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.text import plain
from rag import Trace, failure_words


def search_notes(trace: Trace) -> None:
    """One line for each step that failed."""
    for stage in trace.failures:
        name, note = plain(failure_words(stage)), plain(stage.note)
        st.caption(f":material/warning: **{name}:** {note}")
