"""The Review page: failed answers and what readers reported about them."""

from __future__ import annotations

import streamlit as st

from pages.components.chat.review import queue, share
from pages.components.shell.guard import guard
from pages.components.shell.permission import allowed
from pages.components.shell.session import base as chosen_base
from rag import FeedbackFigures, KnowledgeBase, counted


def main() -> None:
    """The page."""
    base = chosen_base()
    st.title("Review")
    if not allowed(base, "reviews.waiting"):
        return
    st.markdown(
        "Answers with a thumb down or an unsupported sentence, and questions that were refused. "
        "Each can become a labelled question, so that the next evaluation measures it."
    )
    figures = base.reviews.figures()
    _figures(figures)
    _queue(base, figures)


def _figures(figures: FeedbackFigures) -> None:
    """Draw the counts of ratings, refusals and other feedback."""
    with st.container(horizontal=True):
        for label, count, caption in (
            ("Thumbs up", figures.up, "Answers with a thumb up."),
            ("Thumbs down", figures.down, "Answers with a thumb down."),
            ("Refused", figures.refused, "Questions that were refused."),
            ("Unsupported", figures.unsupported, "Answers with an unsupported sentence."),
            ("Followed up", figures.followed, "Questions after which another one was asked."),
            ("Citations opened", figures.opened, "Answers of which a citation was opened."),
        ):
            note = f"{caption} {share(count, figures.turns)}"
            st.metric(label, f"{count:,}", help=note, border=True, width=150)
    st.caption(
        f"Of {counted(figures.turns, 'question')} so far, whoever asked. Whoever gives a thumb is "
        "no random sample of those who ask."
    )
    if figures.unseen:
        st.caption(
            f"{counted(figures.unseen, 'answer')} of others failed without a thumb: only who asked "
            "sees what was asked."
        )


def _queue(base: KnowledgeBase, figures: FeedbackFigures) -> None:
    if not figures.waiting:
        st.info(
            "Nothing waits for a review. A thumb down in the chat, a refusal or an unsupported "
            "sentence brings a turn here.",
            icon=":material/task_alt:",
        )
        st.page_link("chat.py", label="Open the chat", icon=":material/forum:")
        return
    queue(base)


with guard():
    main()
