"""The workspace that all pages share, and the knowledge base that this visitor looks at."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from rag import BaseInfo, KnowledgeBase, NotFound, Workspace

BASE = "kb"  # state key of the picker and name of the URL's parameter


@st.cache_resource(show_spinner=False)
def workspace() -> Workspace:
    """The one workspace of this process, with the sample queued at the first start."""
    opened = Workspace.from_env()
    opened.welcome()
    return opened


def start_work() -> None:
    """Starts the worker, once; after the first page is drawn, so that it need not share."""
    workspace().jobs.start()


def base() -> KnowledgeBase:
    """The chosen knowledge base, else the oldest. Raises NotFound where there is none at all."""
    bases = workspace().bases()
    if not bases:
        raise NotFound("There is no knowledge base yet.", "Create one in the sidebar.")
    chosen = st.session_state.get(BASE)
    known = any(info.name == chosen for info in bases)
    return workspace().base(chosen if known else oldest(bases))


def oldest(bases: Sequence[BaseInfo]) -> str:
    """The base of an address that names none: new ones must not change what old links show."""
    return min(bases, key=lambda info: info.created).name
