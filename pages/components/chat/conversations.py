"""Conversations of a visitor: the one that goes on, and those of before."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.chat import turn_view
from pages.components.shell.buttons import action_button
from pages.components.shell.text import plain
from pages.components.shell.wording import ago, clipped
from rag import KnowledgeBase, Turn, counted

CONVERSATION = turn_view.TALK
_HELD = "chat_talks"  # the conversation that goes on, by knowledge base
LATEST = 8  # turns of a conversation that are drawn at first
_LISTED = 12
_DIGITS = 9  # more than any conversation has, and few enough for an integer of SQL
_LONGEST = 70  # characters of a question in the list


def current(base: KnowledgeBase, wanted: str) -> int | None:
    """The conversation that ``wanted`` numbers; else the one that this visitor had here last."""
    held = _held().get(base.id)
    named = int(wanted) if wanted.isdecimal() and len(wanted) <= _DIGITS else None
    for conversation_id in (named, held):
        if conversation_id is not None and base.conversations.exists(conversation_id):
            return remember(base, conversation_id)
    return None


def remember(base: KnowledgeBase, conversation_id: int) -> int:
    """Makes it the one that goes on when the visitor comes back from another page."""
    _held()[base.id] = conversation_id
    return conversation_id


def start_anew(base: KnowledgeBase) -> None:
    """The next question opens a conversation."""
    _held().pop(base.id, None)
    forget_address()


def earlier_conversations(base: KnowledgeBase, conversation_id: int | None) -> None:
    """A list of the last conversations; nothing where there is no other one."""
    others = [talk for talk in base.conversations.recent(_LISTED) if talk.id != conversation_id]
    if not others:
        return
    # Another key for another conversation, or the list would stay open over it.
    key = f"chat_earlier_{conversation_id}"
    earlier = st.popover("Earlier", icon=":material/history:", key=key, on_change="rerun")
    if not earlier.open:
        return
    with earlier:
        for talk in others:
            short = clipped(talk.question, _LONGEST)
            size = f"{counted(talk.turns, 'question')} · " if talk.turns > 1 else ""
            label = f"{plain(short)} :gray[· {size}{ago(talk.asked)}]"
            action_button(label, f"chat_talk_{talk.id}", "", _open, base, talk.id, type="tertiary")


def _open(base: KnowledgeBase, conversation_id: int) -> None:
    remember(base, conversation_id)
    forget_address()


def latest(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The last turns; all of them where that was asked for, or where an older one is open."""
    older = turns[:-LATEST]
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
    return turns[-LATEST:]


def forget_address() -> None:
    """Takes the conversation and its open source out of the URL."""
    for name in (CONVERSATION, turn_view.OPEN):
        st.query_params.pop(name, None)


def _held() -> dict[int, int]:
    held: dict[int, int] = st.session_state.setdefault(_HELD, {})
    return held
