"""Conversations of a visitor: the one that goes on, and those of before."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.components.chat import session_settings, turn_view
from pages.components.shell.buttons import action_button, confirm_button, download_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.session import show
from pages.components.shell.text import plain
from pages.components.shell.wording import ago, clipped
from rag import Conversation, KnowledgeBase, Turn, counted

CONVERSATION = turn_view.TALK
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
        session_settings.sources_switch()
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


@st.dialog("Delete this conversation?", icon=":material/delete:")
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
        session_settings.bring_back(base, talk.settings)
    session_settings.belongs(base, conversation_id)


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
    opened = st.query_params.get(turn_view.OPEN, "").partition(".")[0]
    if st.session_state.get(key) or any(str(turn.id) == opened for turn in older):
        return turns
    with st.container(horizontal_alignment="center"):
        label = f"Show {counted(len(older), 'earlier question')}"
        show = st.session_state.update
        action_button(label, f"{key}_button", "expand_less", show, {key: True}, type="tertiary")
    return shown


def forget_address() -> None:
    """Take the conversation and its open source out of the URL."""
    for name in (CONVERSATION, turn_view.OPEN):
        st.query_params.pop(name, None)


def _open_by_base() -> dict[int, int]:
    last_opened: dict[int, int] = st.session_state.setdefault(_OPEN_BY_BASE, {})
    return last_opened
