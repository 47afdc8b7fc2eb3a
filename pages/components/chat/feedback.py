"""Reactions to an answer: thumbs with their reason, and a question of a set with labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import streamlit as st

from pages.components.labels.grading import (
    ALL_GRADES,
    MEANING,
    grade_name,
    labels_in_words,
    targets,
)
from pages.components.labels.question_sets import SET as SET_PARAMETER
from pages.components.shell.buttons import confirm_button, dialog
from pages.components.shell.guard import guard, later
from pages.components.shell.session import offered, question_sets
from pages.components.shell.text import plain
from pages.components.source.places import is_here, place
from rag import (
    FEEDBACK_REASONS,
    FROM_USERS,
    LONGEST_QUESTION,
    SHOULD_ANSWER,
    SHOULD_REFUSE,
    Hit,
    InvalidInput,
    KnowledgeBase,
    PassageGrade,
    StoredCitation,
    Turn,
    page_name,
    unmarked,
)

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


@dialog("What was wrong?", icon=":material/rate_review:")
def _reason(base: KnowledgeBase, turn: Turn) -> None:
    reason, correction = f"chat_reason_{turn.id}", f"chat_correction_{turn.id}"
    st.pills(
        "Reason",
        _reasons(turn),
        default=turn.reason or None,
        key=reason,
        label_visibility="collapsed",
        persist_state="page",
    )
    st.text_area(
        "Correct answer (optional)",
        turn.correction,
        key=correction,
        max_chars=_LONGEST,
        persist_state="page",
    )
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


SET = "chat_collect_set"
ADDED = "chat_collected"
_MOST_UNSCROLLED = 3
_TALLEST = 260  # pixels of the list

Retrieved = Callable[[], Sequence[Hit]]
"The retrieved passages of the question, or the nearest candidates."


@dataclass(frozen=True, slots=True)
class _Gradable:
    """A span of a document that can be graded; ``key`` tells it from the others of its turn."""

    key: str
    label: str
    document_id: str
    start: int
    end: int


def collect_button(base: KnowledgeBase, turn: Turn, retrieved: Retrieved) -> None:
    """A button that opens the choice for an answer; the next run says what was added."""
    added = st.session_state.pop(f"{ADDED}_{turn.id}", "")
    if added:
        st.toast(added, icon=":material/playlist_add_check:")
    if st.button(
        "Add to questions",
        key=f"chat_collect_{turn.id}",
        icon=":material/playlist_add:",
        type="tertiary",
        **offered(
            base,
            "questions.collect_with_grades",
            help="Adds this question to a question set.",
        ),
    ):
        _choose(base, turn, retrieved)


@dialog("Add to questions", icon=":material/playlist_add:", width="large")
def _choose(base: KnowledgeBase, turn: Turn, retrieved: Retrieved) -> None:
    # Escape and a click beside it close it: what is typed or graded is there when it opens again.
    st.text_area(
        "Question",
        turn.complete,
        key=_question(turn),
        max_chars=LONGEST_QUESTION,
        height=80,
        help="Write the question so that it is clear without the conversation.",
        persist_state="page",
    )
    names, first = targets(base)
    st.selectbox(
        "Question set",
        names,
        index=first,
        key=SET,
        accept_new_options=True,
        placeholder="Choose one, or type a name",
        help="Type a name to start a new one.",
    )
    name = str(st.session_state[SET] or "").strip()
    if name and name not in {item.name for item in question_sets(base)}:
        st.caption(f"*Add* creates the question set *{plain(name)}*.")
    answered = not st.checkbox(
        "No answer: these documents do not answer the question",
        turn.reason == SHOULD_REFUSE,
        key=_unanswerable(turn),
        help="The correct result is then to retrieve nothing.",
        persist_state="page",
    )
    if answered:
        st.text_area(
            "Expected answer (optional)",
            turn.correction,
            key=_expected(turn),
            height=80,
            help="Answers are compared with it.",
            persist_state="page",
        )
    passages = [*_cited(base, turn), *_others(base, turn, retrieved())]
    if answered and passages:
        st.caption(
            "Grade the passages that answer the question. Passages without a grade get no label."
        )
        # Many passages scroll in a part of the dialog, so that its buttons stay on the screen.
        height: int | Literal["content"] = "content"
        if len(passages) > _MOST_UNSCROLLED:
            height = _TALLEST
        with st.container(height=height, key="chat_collect_passages"):
            for passage in passages:
                st.segmented_control(
                    passage.label,
                    ALL_GRADES,
                    format_func=grade_name,
                    key=_grade_key(turn, passage),
                    help=MEANING,
                    persist_state="page",
                )
    if answered:
        _elsewhere(turn, name)
    key = f"chat_collect_store_{turn.id}"
    confirm_button("Add", key, _store, base, turn, passages)


def _elsewhere(turn: Turn, set_name: str) -> None:
    """The way to a passage that was not retrieved."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(
            "None of them answers it? Paste the words under *Expected something else?*",
            width="content",
        )
        parameters = {"q": turn.complete} | ({SET_PARAMETER: set_name} if set_name else {})
        st.page_link(
            "inspector.py",
            label="Look in the inspector",
            icon=":material/frame_inspect:",
            query_params=parameters,
        )


def _cited(base: KnowledgeBase, turn: Turn) -> list[_Gradable]:
    """The quoted words of the citations whose documents are here."""
    return [
        _Gradable(
            str(citation.n),
            f"**{citation.n}** {_described(citation.document, citation.page, _words(citation))}",
            citation.document_id,
            *_span(citation),
        )
        for citation in turn.citations
        if citation.base in ("", base.name) and is_here(base, citation.document_id)
    ]


def _others(base: KnowledgeBase, turn: Turn, hits: Sequence[Hit]) -> list[_Gradable]:
    """The retrieved passages of this knowledge base that the answer doesn't cite."""
    cited = {citation.chunk_id for citation in turn.citations}
    return [
        _Gradable(
            hit.chunk.id,
            _described(hit.document, place(base, hit.chunk).page, hit.chunk.text),
            hit.chunk.document_id,
            hit.chunk.start,
            hit.chunk.end,
        )
        for hit in hits
        if hit.chunk.id not in cited and hit.base in ("", base.name)
    ]


def _described(document: str, page: int | None, text: str) -> str:
    where = page_name(document, page, before=", ")
    words = " ".join(unmarked(text).split())
    return f"{plain(document)}{where}: {plain(words)}"


def _question(turn: Turn) -> str:
    return f"chat_collect_question_{turn.id}"


def _unanswerable(turn: Turn) -> str:
    return f"chat_collect_unanswerable_{turn.id}"


def _expected(turn: Turn) -> str:
    return f"chat_collect_expected_{turn.id}"


def _grade_key(turn: Turn, passage: _Gradable) -> str:
    return f"chat_collect_grade_{turn.id}_{passage.key}"


def _words(citation: StoredCitation) -> str:
    return citation.quote or citation.text


def _store(base: KnowledgeBase, turn: Turn, passages: Sequence[_Gradable]) -> None:
    name = (st.session_state[SET] or "").strip()
    text = str(st.session_state[_question(turn)] or "").strip()
    if not name:
        raise InvalidInput("No question set is chosen.", "Choose one, or type a name.")
    collect = partial(base.questions.collect_with_grades, name, text, origin=FROM_USERS)
    if st.session_state[_unanswerable(turn)]:
        collect(answerable=False)
        outcome = "as a question without an answer"
    else:
        passage_grades = ((hit, st.session_state.get(_grade_key(turn, hit))) for hit in passages)
        grades = [
            PassageGrade(passage.document_id, passage.start, passage.end, int(grade))
            for passage, grade in passage_grades
            if grade is not None
        ]
        collect(grades, answer=str(st.session_state.get(_expected(turn)) or ""))
        labels = base.questions.labels_of(name, text, turn.recipe.index)
        outcome = f"where it has {labels_in_words(labels)}"
    base.conversations.mark_labelled(turn.id)
    st.session_state[f"{ADDED}_{turn.id}"] = f"Added to {plain(name)}, {outcome}."


def _span(citation: StoredCitation) -> tuple[int, int]:
    """The span of the quoted words in the document; without a quote, the span of the passage."""
    at = citation.text.find(citation.quote) if citation.quote else -1
    if at < 0:
        return citation.start, citation.end
    return citation.start + at, citation.start + at + len(citation.quote)
