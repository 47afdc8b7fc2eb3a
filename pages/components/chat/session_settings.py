"""Settings of a conversation: stored with it, and restored when it is opened."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import streamlit as st

from pages.components.recipe import federation, working_recipe
from pages.components.shell.permission import guest
from pages.components.shell.text import plain
from rag import (
    URL_PARAMETERS,
    Conversation,
    FurtherBase,
    InvalidRecipe,
    KnowledgeBase,
    model_name,
)

_OPENED = "chat_settings_of"  # whose settings the working recipe has, by knowledge base
_HIDDEN = "chat_sources_hidden"
_LISTED = 4  # fields that are named under the title


def of_page(base: KnowledgeBase, also: Sequence[FurtherBase]) -> dict[str, Any]:
    """The current settings of the page, in their stored form."""
    changes = working_recipe.differences(base)
    settings = {
        "recipe": {name: value for name, (_saved, value) in changes.items()},
        "also": [str(base_name) for base_name in also],
        "sources": shows_sources(),
    }
    stored: dict[str, Any] = json.loads(json.dumps(settings, default=list))
    return stored


def opened(base: KnowledgeBase, talk: Conversation) -> None:
    """Bring the settings of a conversation back that an address or another page led to.

    An address that has a recipe of its own means that one.
    """
    if _opened().get(base.id) == talk.id or guest():
        return
    belongs(base, talk.id)
    if talk.settings and not _in_address() and bring_back(base, talk.settings):
        st.rerun()  # the sidebar stands there with the recipe of before


def belongs(base: KnowledgeBase, conversation_id: int) -> None:
    """Note that the page has the settings of a conversation."""
    _opened()[base.id] = conversation_id


def bring_back(base: KnowledgeBase, settings: Mapping[str, Any]) -> bool:
    """Make settings those of the page; tell whether the recipe is another one then.

    What no longer makes sense, such as an index that was deleted, is left out.
    """
    before = working_recipe.working(base)
    recipe = saved = working_recipe.saved(base)
    for field, value in settings.get("recipe", {}).items():
        with suppress(InvalidRecipe):
            recipe = recipe.with_fields({field: value})
    if recipe.index != saved.index and base.documents.missing(recipe.index):
        recipe = recipe.model_copy(update={"index": saved.index})
    federation.choose(base, settings.get("also", ()))
    st.session_state[_HIDDEN] = not settings.get("sources", True)
    return working_recipe.replace(base, recipe) != before


def keep(base: KnowledgeBase, talk: Conversation, also: Sequence[FurtherBase]) -> None:
    """Store what changed since; a conversation without settings gets them with a question."""
    if talk.settings is None:
        return
    now = of_page(base, also)
    if now != talk.settings:
        base.conversations.keep(talk.id, now)


def note(base: KnowledgeBase, talk: Conversation | None) -> None:
    """Say that the conversation is asked with a recipe that is not the saved one."""
    changes = working_recipe.differences(base) if talk is not None else {}
    if not changes:
        return
    named = [
        f"{plain(name)} {plain(_shown(name, value))}"
        for name, (_saved, value) in list(changes.items())[:_LISTED]
    ]
    more = len(changes) - len(named)
    st.caption(
        f":material/tune: This conversation is asked with {', '.join(named)}"
        + (f" and {more:,} more." if more else ".")
        + " It keeps that; *Reset* in the sidebar goes back to the saved recipe."
    )


def _shown(name: str, value: object) -> str:
    text = "off" if value is None else str(value)
    return model_name(text) if name == "answer.model" else text


def shows_sources() -> bool:
    """Whether sources stand below answers."""
    return not st.session_state.get(_HIDDEN, False)


def sources_switch() -> None:
    """The switch that hides the sources below answers; citations stay links."""
    key = "chat_sources_switch"
    st.session_state[key] = shows_sources()

    def switched() -> None:
        st.session_state[_HIDDEN] = not st.session_state[key]

    st.toggle("Sources below answers", key=key, on_change=switched)


def _in_address() -> bool:
    names = (*URL_PARAMETERS, working_recipe.CUT, working_recipe.THRESHOLD)
    return any(name in st.query_params for name in (*names, working_recipe.BUILD))


def _opened() -> dict[int, int]:
    opened: dict[int, int] = st.session_state.setdefault(_OPENED, {})
    return opened
