"""What the role of a visitor does not allow is not offered: it is off, and says which role may."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.shell.run_cache import cached_per_run
from pages.components.shell.session import workspace
from rag import BaseInfo, BaseOverview, KnowledgeBase


def refusal(base: KnowledgeBase | BaseInfo | BaseOverview | int, path: str) -> str:
    """Why the visitor may not do what the table of rights calls ``path``; "" where it is allowed.

    ``base`` is a knowledge base or the id of one.
    """
    base_id = base if isinstance(base, int) else base.id
    return cached_per_run(("refusal", base_id, path), lambda: workspace().refusal(base_id, path))


def offered(
    base: KnowledgeBase | BaseInfo | BaseOverview | int, path: str, **options: Any
) -> dict[str, Any]:
    """The options of a widget; it is off where the visitor may not, and its help says who may."""
    said = refusal(base, path)
    return options | {"disabled": True, "help": said} if said else options


def allowed(base: KnowledgeBase, path: str) -> bool:
    """Whether the visitor may; where not, a line in the place of what is not offered says who."""
    said = refusal(base, path)
    if said:
        st.caption(f":material/lock: {said}")
    return not said


def guest() -> bool:
    """Whether the visitor came by a link: only the chat and the runs are there then."""
    return workspace().principal.link is not None
