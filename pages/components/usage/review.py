"""The review queue: every turn in it becomes a question, is dismissed, or is looked into."""

from __future__ import annotations

import streamlit as st

from pages.components.chat import feedback, turn_view
from pages.components.chat.answer_text import BADGES, sentence_notes
from pages.components.chat.conversations import CONVERSATION
from pages.components.chat.feedback import collect_button
from pages.components.shell.buttons import action_button
from pages.components.shell.session import offered
from pages.components.shell.text import ago, clipped, lines, listed, plain
from rag import Feedback, FeedbackFigures, KnowledgeBase, Turn, counted, percent

_SHOWN = 20
_LONGEST = 600  # characters of an answer in the queue
_KINDS = ("All", "Thumbs down", "Refused", "Doubtful", "Unsupported")


def review(base: KnowledgeBase) -> None:
    """Draw the counts of ratings and refusals, and the answers that wait for review."""
    st.caption(
        "Doubtful answers, those with a thumb down or an unsupported sentence, and refusals. Turn "
        "one into a labelled question, and the next evaluation measures it."
    )
    figures = base.conversations.review_figures()
    _figures(figures)
    if figures.waiting:
        _queue(base)
        return
    st.info(
        "Nothing waits for a review. A thumb down in the chat, a refusal or an unsupported "
        "sentence adds an answer here.",
        icon=":material/task_alt:",
    )


def _share(count: int, of: int) -> str:
    """A count as a share, in words; "" of nothing."""
    return f"{percent(count / of)} of all." if of else ""


def _figures(figures: FeedbackFigures) -> None:
    """Draw the counts of ratings, refusals and other feedback."""
    st.caption(
        f"**All users:** {counted(figures.turns, 'question')} so far. People who rate answers "
        "are not a random sample of those who ask."
    )
    with st.grid(4, min_column_width=150):
        for label, count, caption in (
            ("Thumbs up", figures.up, "Answers with a thumb up."),
            ("Thumbs down", figures.down, "Answers with a thumb down."),
            ("Refused", figures.refused, "Questions that were refused."),
            (
                "Doubtful",
                figures.doubtful,
                "Quotes that probably answer something else.",
            ),
            ("Unsupported", figures.unsupported, "Answers with an unsupported sentence."),
            (
                "Followed up",
                figures.followed,
                "Questions with a follow-up that was understood from them.",
            ),
            ("Citations opened", figures.opened, "Answers of which a citation was opened."),
        ):
            if label == "Followed up" and not count:
                continue  # without a step that completes follow-ups, none is known
            note = f"{caption} {_share(count, figures.turns)}"
            st.metric(label, f"{count:,}", help=note, border=True, height="stretch")
    if figures.unseen:
        st.caption(
            f"{counted(figures.unseen, 'answer')} of other users failed without a rating: only "
            "the people who asked can see them."
        )


def _queue(base: KnowledgeBase) -> None:
    """Draw the answers that wait for review, newest first."""
    kind = st.segmented_control(
        "Which", _KINDS, default=_KINDS[0], required=True, key="review_kind", bind="query-params"
    )
    waiting = [
        feedback_item
        for feedback_item in base.conversations.waiting_reviews()
        if _is(feedback_item, kind)
    ]
    if not waiting:
        st.caption("Nothing of this kind waits for a review.")
    for feedback_item in waiting[:_SHOWN]:
        _card(base, feedback_item)
    if len(waiting) > _SHOWN:
        st.caption(f"The newest {_SHOWN} are shown. Settle these to see the next ones.")


def _is(item: Feedback, kind: str) -> bool:
    turn = item.turn
    kinds = {
        "Thumbs down": turn.thumb < 0,
        "Refused": turn.status == "refused",
        "Doubtful": turn.state == "doubtful",
        "Unsupported": _unsupported(turn),
    }
    return kinds.get(kind, True)


def _unsupported(turn: Turn) -> bool:
    return any(not check.borne_out for check in turn.sentences)


def _card(base: KnowledgeBase, item: Feedback) -> None:
    turn = item.turn
    with st.container(border=True, key=f"review_turn_{turn.id}"):
        why = [":red-badge[:material/thumb_down: thumb down]"] if turn.thumb < 0 else []
        why += [":orange-badge[:material/block: refused]"] if turn.status == "refused" else []
        why += [BADGES[turn.state]] if turn.state in ("doubtful", "conflicting") else []
        why += [":orange-badge[:material/warning: unsupported]"] if _unsupported(turn) else []
        why += [] if item.own else [":gray-badge[:material/person: asked by another visitor]"]
        when = f":gray[{ago(turn.created)}]" if turn.created else ""
        st.markdown(" ".join([*why, when]))
        st.markdown(f"**{plain(turn.complete)}**")
        if turn.answer:
            answer, more = (clipped(part, _LONGEST) for part in turn_view.split(turn))
            st.markdown(listed(answer) if turn.status == "refused" else lines(answer))
            if more:
                with st.expander("More from the documents", icon=":material/format_quote:"):
                    st.markdown(lines(more))
        sentence_notes(turn)
        if comments := feedback.sentence(turn):
            st.markdown(comments)
        with st.container(horizontal=True, gap="small"):
            collect_button(base, turn, lambda: turn_view.retrieved(base, turn))
            turn_view.inspect_button(base, turn)
            if item.own and st.button(
                "Open in the chat",
                key=f"review_open_{turn.id}",
                icon=":material/forum:",
                type="tertiary",
            ):
                base.conversations.show(item.conversation, turn.id)
                st.switch_page("chat.py", query_params={CONVERSATION: str(item.conversation)})
            key, act = f"review_dismiss_{turn.id}", base.conversations.dismiss_review
            options = offered(base, "conversations.dismiss_review", type="tertiary")
            action_button("Dismiss", key, "close", act, turn.id, **options)
