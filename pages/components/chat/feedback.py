"""Thumbs under an answer, and why one is down."""

from __future__ import annotations

from functools import partial

import streamlit as st

from pages.components.shell.buttons import confirm_button
from pages.components.shell.guard import guard
from pages.components.shell.notices import later
from pages.components.shell.text import plain
from rag import FEEDBACK_REASONS, SHOULD_ANSWER, SHOULD_REFUSE, KnowledgeBase, Turn

_LONGEST = 4000
_SEEN = (
    "If you rate an answer, people who review this knowledge base can see the question and "
    "its answer. Otherwise only you see them."
)


def thumbs(base: KnowledgeBase, turn: Turn) -> None:
    """The thumbs; under one that is down, why, and what would have been right."""
    st.feedback(
        "thumbs",
        key=f"chat_thumb_{turn.id}",
        default={1: 1, -1: 0}.get(turn.thumb),
        on_change=_rate,
        args=(base, turn.id),
    )
    st.caption("Who sees this rating?", help=_SEEN, width="content")
    if turn.thumb >= 0:
        return
    label = f"Because: {turn.reason}" if turn.reason else "Say why"
    # No popover: below the last answer, where there is no room for one, it hides its button.
    if st.button(label, key=f"chat_why_{turn.id}", icon=":material/rate_review:", type="tertiary"):
        _reason(base, turn)


@st.dialog("What was wrong?", icon=":material/rate_review:")
def _reason(base: KnowledgeBase, turn: Turn) -> None:
    reason, correction = f"chat_reason_{turn.id}", f"chat_correction_{turn.id}"
    st.pills(
        "Reason",
        _reasons(turn),
        default=turn.reason or None,
        key=reason,
        label_visibility="collapsed",
    )
    st.text_area("Correct answer (optional)", turn.correction, key=correction, max_chars=_LONGEST)
    keep = (base, turn.id, reason, correction)
    confirm_button("Send", f"chat_why_keep_{turn.id}", _explain, *keep)


def _reasons(turn: Turn) -> list[str]:
    """The reasons that an answer can have, and the one that was given."""
    answered = turn.status != "refused" and turn.state != "doubtful"
    unfit = SHOULD_ANSWER if answered else SHOULD_REFUSE if turn.status == "refused" else ""
    return [reason for reason in FEEDBACK_REASONS if reason != unfit or reason == turn.reason]


def sentence(turn: Turn) -> str:
    """The reason and the correction of a failed answer, as Markdown; empty without both."""
    reason = f":orange-badge[{plain(turn.reason)}]" if turn.reason else ""
    right = f"Right would be: {plain(turn.correction)}" if turn.correction else ""
    return "  \n".join(line for line in (reason, right) if line)


def _explain(base: KnowledgeBase, turn_id: int, reason: str, correction: str) -> None:
    state = st.session_state
    base.conversations.explain_thumb(turn_id, state.get(reason) or "", state.get(correction) or "")
    sent = "Sent. You can find it on *Usage*, under *Review*."
    later(partial(st.toast, sent, icon=":material/rate_review:"))


@guard()
def _rate(base: KnowledgeBase, turn_id: int) -> None:
    thumb = st.session_state[f"chat_thumb_{turn_id}"]
    base.conversations.rate(turn_id, {1: 1, 0: -1}.get(thumb, 0))
    if thumb is not None:
        st.toast(
            ("Sent. People who review this knowledge base can see this question and its answer."),
            icon=":material/check:",
        )
