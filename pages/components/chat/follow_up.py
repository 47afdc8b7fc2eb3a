"""The complete question that a follow-up was answered as: shown, and open to correction."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.buttons import action_button
from pages.components.shell.text import plain
from rag import LONGEST_QUESTION, KnowledgeBase, Message, Turn, leans_on_another

RETRY = "chat_retry"  # the session's state: what is asked next
_AS_IT_IS = "chat_as_it_is"


def understood(turn: Turn) -> None:
    """Draw the complete question that was searched, with a form to edit it and ask again.

    A question without an answer that leans on another, where none was asked before, says so.
    """
    if not turn.rewritten:
        is_answered = turn.status != "refused" and turn.state != "doubtful"
        if not is_answered and leans_on_another(turn.question):
            note = "The question refers to something earlier. Name it, and ask again."
            st.caption(f":material/alt_route: {note}")
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(f":material/alt_route: Understood as: *{plain(turn.rewritten)}*")
        with st.popover("Edit", icon=":material/edit:", type="tertiary"):
            key = f"chat_rewritten_{turn.id}"
            st.text_area(
                "Ask this instead",
                turn.rewritten,
                key=key,
                max_chars=LONGEST_QUESTION,
                help="Searches the question as you typed it, without the conversation.",
            )
            again = f"chat_reask_{turn.id}"
            action_button("Ask again", again, "send", _ask_instead, key, type="primary")


def _ask_instead(key: str) -> None:
    text = str(st.session_state.get(key, "")).strip()
    if text:
        st.session_state[RETRY] = text
        st.session_state[_AS_IT_IS] = True


def history(base: KnowledgeBase, conversation_id: int | None) -> Sequence[Message]:
    """The messages that a new question may refer to; none if the user edited its rewritten form."""
    if st.session_state.pop(_AS_IT_IS, False) or conversation_id is None:
        return ()
    return base.conversations.history(conversation_id)
