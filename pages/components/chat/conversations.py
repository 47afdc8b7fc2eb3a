"""Conversations of a visitor, with the settings that are stored with each and come back with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import streamlit as st

from pages.components.recipe import federation, working_recipe
from pages.components.shell.buttons import action_button, confirm_button, dialog, download_button
from pages.components.shell.guard import guard
from pages.components.shell.session import guest, offered, show
from pages.components.shell.text import ago, clipped, plain
from rag import (
    URL_PARAMETERS,
    Conversation,
    FurtherBase,
    InvalidRecipe,
    KnowledgeBase,
    Turn,
    counted,
    model_name,
)

CONVERSATION = "talk"  # the URL's parameter: the conversation
OPEN = "source"  # the URL's parameter: turn and number of the citation that is open, "12.1"
_CHOICES = "chat_choices"  # how often another conversation was chosen
_DELETING = "chat_deleting"  # whether the dialog that deletes is to be opened
_FIRST_SHOWN = "chat_first_shown"  # the first turn that is drawn
_OPEN_BY_BASE = "chat_talks"  # the conversation that goes on, by knowledge base
LATEST = 8  # turns of a conversation that are drawn at first
_LISTED = 12
_DIGITS = 9  # more than any conversation has, and few enough for an integer of SQL
_LONGEST = 70  # characters of a question in the list


def current(base: KnowledgeBase, parameter: str) -> Conversation | None:
    """The conversation that ``wanted`` numbers; else the one that this visitor had here last."""
    last_opened = _open_by_base().get(base.id)
    named = int(parameter) if parameter.isdecimal() and len(parameter) <= _DIGITS else None
    for conversation_id in dict.fromkeys((named, last_opened)):
        conversation = None if conversation_id is None else base.conversations.find(conversation_id)
        if conversation is not None:
            remember(base, conversation.id)
            return conversation
    return None


def remember(base: KnowledgeBase, conversation_id: int) -> int:
    """Make it the one that goes on when the visitor comes back from another page."""
    _open_by_base()[base.id] = conversation_id
    return conversation_id


def start_anew(base: KnowledgeBase) -> None:
    """The next question opens a conversation."""
    _close_menu()
    _open_by_base().pop(base.id, None)
    forget_address()


def conversations_menu(base: KnowledgeBase, talk: Conversation | None) -> None:
    """The list of conversations, and what can be done with the one that is open.

    Nothing is read before the list is opened.
    """
    # Another key after a choice, or the list would stay open over what was chosen. Not one for
    # each conversation: the first answer makes one, and the list would close on its first click.
    key = f"chat_earlier_{st.session_state.get(_CHOICES, 0)}"
    menu = st.popover("Conversations", icon=":material/history:", key=key, on_change="rerun")
    if st.session_state.pop(_DELETING, None) and talk is not None:
        _confirm_delete(base, talk)
    if not menu.open:
        return
    with menu:
        if talk is not None:
            _this_one(base, talk)
        sources_switch()
        _others(base, talk)


def _this_one(base: KnowledgeBase, talk: Conversation) -> None:
    key = f"chat_name_{talk.id}"
    show(key, talk.name)
    st.text_input(
        "Name of this conversation",
        key=key,
        max_chars=80,
        placeholder="its first question",
        on_change=guard(in_dialog=True)(_rename),
        args=(base, talk.id, key),
    )
    with st.container(horizontal=True, gap="small"):
        for label, kind, suffix in (("Markdown", "markdown", "md"), ("JSON", "json", "json")):
            download_button(
                label,
                partial(base.conversations.export, talk.id, kind),
                f"conversation-{talk.id}.{suffix}",
                f"chat_export_{kind}_{talk.id}",
                **offered(base, "conversations.export"),
            )
        action_button("Delete", f"chat_delete_{talk.id}", "delete", _ask_to_delete)


def _ask_to_delete() -> None:
    """Close the menu, which would lie over the dialog, and open the dialog."""
    _close_menu()
    st.session_state[_DELETING] = True


def _rename(base: KnowledgeBase, conversation_id: int, key: str) -> None:
    base.conversations.rename(conversation_id, st.session_state[key])


@dialog("Delete this conversation?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase, talk: Conversation) -> None:
    st.markdown(
        "This permanently deletes its questions, answers and ratings. Questions that you "
        "added to a question set stay there."
    )
    confirm_button("Delete for good", "chat_delete_really", _delete, base, talk.id)


def _delete(base: KnowledgeBase, conversation_id: int) -> None:
    base.conversations.delete(conversation_id)
    start_anew(base)


def _close_menu() -> None:
    st.session_state[_CHOICES] = st.session_state.get(_CHOICES, 0) + 1


def _others(base: KnowledgeBase, talk: Conversation | None) -> None:
    words = st.text_input(
        "Search",
        key="chat_search_talks",
        icon=":material/search:",
        placeholder="in names, questions and answers",
    )
    recent = base.conversations.recent(_LISTED + 1, words)
    others = [conversation for conversation in recent if talk is None or conversation.id != talk.id]
    if not others:
        st.caption(
            "No other conversation contains these words."
            if words
            else "No other conversations yet."
        )
    for conversation in others[:_LISTED]:
        short = clipped(conversation.title, _LONGEST)
        size = f"{counted(conversation.turns, 'question')} · " if conversation.turns > 1 else ""
        label = f"{plain(short)} :gray[· {size}{ago(conversation.asked)}]"
        action_button(
            label, f"chat_talk_{conversation.id}", "", _open, base, conversation.id, type="tertiary"
        )
    if len(recent) > _LISTED:
        st.caption(f"The last {_LISTED} are listed. Search finds the others.")


def _open(base: KnowledgeBase, conversation_id: int) -> None:
    _close_menu()
    remember(base, conversation_id)
    forget_address()
    talk = base.conversations.find(conversation_id)
    if talk is not None and talk.settings:
        bring_back(base, talk.settings)
    note_settings_of(base, conversation_id)


def latest(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The last turns; all of them where that was asked for, or where an older one is open."""
    # What a visitor has before them stays until they leave: a turn that goes with a click on one of
    # its buttons takes the click with it.
    first = st.session_state.get(_FIRST_SHOWN)
    start = next((at for at, turn in enumerate(turns) if turn.id == first), None)
    if start is None or len(turns) - start > 2 * LATEST:
        start = max(len(turns) - LATEST, 0)
    older, shown = turns[:start], turns[start:]
    st.session_state[_FIRST_SHOWN] = shown[0].id if shown else None
    if not older:
        return turns
    key = f"chat_older_{older[0].id}"
    opened = st.query_params.get(OPEN, "").partition(".")[0]
    if st.session_state.get(key) or any(str(turn.id) == opened for turn in older):
        return turns
    with st.container(horizontal_alignment="center"):
        label = f"Show {counted(len(older), 'earlier question')}"
        show = st.session_state.update
        action_button(label, f"{key}_button", "expand_less", show, {key: True}, type="tertiary")
    return shown


def forget_address() -> None:
    """Take the conversation and its open source out of the URL."""
    for name in (CONVERSATION, OPEN):
        st.query_params.pop(name, None)


def _open_by_base() -> dict[int, int]:
    last_opened: dict[int, int] = st.session_state.setdefault(_OPEN_BY_BASE, {})
    return last_opened


_OPENED = "chat_settings_of"  # whose settings the working recipe has, by knowledge base
_HIDDEN = "chat_sources_hidden"
_NAMED_FIELDS = 4  # fields that are named under the title


def page_settings(base: KnowledgeBase, also: Sequence[FurtherBase]) -> dict[str, Any]:
    """The current settings of the page, in their stored form."""
    changes = working_recipe.differences(base)
    settings = {
        "recipe": {name: value for name, (_saved, value) in changes.items()},
        "also": [str(base_name) for base_name in also],
        "sources": shows_sources(),
    }
    stored: dict[str, Any] = json.loads(json.dumps(settings, default=list))
    return stored


def restore_settings(base: KnowledgeBase, talk: Conversation) -> None:
    """Bring the settings of a conversation back that an address or another page led to.

    An address that has a recipe of its own means that one.
    """
    if _opened().get(base.id) == talk.id or guest():
        return
    note_settings_of(base, talk.id)
    if talk.settings and not _in_address() and bring_back(base, talk.settings):
        st.rerun()  # the sidebar stands there with the recipe of before


def note_settings_of(base: KnowledgeBase, conversation_id: int) -> None:
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


def keep_settings(base: KnowledgeBase, talk: Conversation, also: Sequence[FurtherBase]) -> None:
    """Store what changed since; a conversation without settings gets them with a question."""
    if talk.settings is None:
        return
    now = page_settings(base, also)
    if now != talk.settings:
        base.conversations.keep(talk.id, now)


def settings_note(base: KnowledgeBase, talk: Conversation | None) -> None:
    """Say that the conversation is asked with a recipe that is not the saved one."""
    changes = working_recipe.differences(base) if talk is not None else {}
    if not changes:
        return
    named = [
        f"{plain(name)} {plain(_shown(name, value))}"
        for name, (_saved, value) in list(changes.items())[:_NAMED_FIELDS]
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
