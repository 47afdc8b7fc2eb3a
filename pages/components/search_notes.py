"""What a search could not do, for the eye that has not looked at its stages."""

from __future__ import annotations

import streamlit as st

from pages.components.text import plain
from rag import Trace

_NAMES = {
    "rewrite": "The follow-up was not made complete",
    "expansions": "No further wordings were searched",
    "hyde": "No imagined answer was searched",
    "rerank": "The results were not reranked",
}


def search_notes(trace: Trace) -> None:
    """One line for each step that failed."""
    for stage in trace.failures:
        name = _NAMES.get(stage.name, f"The step {stage.name} failed")
        st.caption(f":material/warning: **{plain(name)}:** {plain(stage.note)}")
