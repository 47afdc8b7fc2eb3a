"""Permission checks of widgets: a forbidden action is disabled, and its help names the role."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.components.shell.run_cache import cached_per_run
from pages.components.shell.session import workspace
from rag import BaseInfo, BaseOverview, KnowledgeBase


def refusal(base: KnowledgeBase | BaseInfo | BaseOverview | int, path: str) -> str:
    """The reason why the visitor may not do ``path``; empty if it is allowed.

    ``path`` is that of an operation, such as ``documents.build``. ``base`` is a knowledge base or
    its id.
    """
    base_id = base if isinstance(base, int) else base.id
    return cached_per_run(("refusal", base_id, path), lambda: workspace().refusal(base_id, path))


def offered(
    base: KnowledgeBase | BaseInfo | BaseOverview | int, path: str, **options: Any
) -> dict[str, Any]:
    """The options of a widget; it is off where the visitor may not, and its help says who may."""
    reason = refusal(base, path)
    return options | {"disabled": True, "help": reason} if reason else options


def allowed(base: KnowledgeBase, path: str) -> bool:
    """Whether the visitor may; where not, a line in the place of what is not offered says who."""
    reason = refusal(base, path)
    if reason:
        st.caption(f":material/lock: {reason}")
    return not reason


def guest() -> bool:
    """Whether the visitor came by a link: only the chat, the tours and the runs are there then."""
    return workspace().principal.link is not None


def link_tour() -> int | None:
    """Return the id of the only tour that the guest's link shows, beside the chat.

    It is None for links that show all tours and the runs, and for visitors who are no guests.
    """
    link = workspace().principal.link
    return None if link is None else link.tour_id
