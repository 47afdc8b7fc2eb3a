"""From a chat to a question set: the question, and which of the cited passages answer it."""

from __future__ import annotations

import streamlit as st

from pages.components.labels.grading import FIRST_SET, GRADES, MEANINGS
from pages.components.shell.buttons import confirm_button
from pages.components.shell.text import plain
from pages.components.shell.wording import counted
from rag import KnowledgeBase, StoredCitation, Turn

SET = "chat_collect_set"
ADDED = "chat_collected"


def collect_button(base: KnowledgeBase, turn: Turn) -> None:
    """A button that opens the choice for an answer; the next run says what was added."""
    added = st.session_state.pop(f"{ADDED}_{turn.id}", "")
    if added:
        st.toast(added, icon=":material/playlist_add_check:")
    if st.button(
        "Add to questions",
        key=f"chat_collect_{turn.id}",
        icon=":material/playlist_add:",
        type="tertiary",
        help="Puts the question into a question set, to measure with.",
    ):
        _choose(base, turn)


@st.dialog("Add to questions", icon=":material/playlist_add:", width="medium")
def _choose(base: KnowledgeBase, turn: Turn) -> None:
    st.markdown(f"**{plain(turn.complete)}**")
    names = [item.name for item in base.questions.every()] or [FIRST_SET]
    st.selectbox(
        "Question set",
        names,
        key=SET,
        accept_new_options=True,
        help="Type a name to start a new one.",
    )
    if turn.citations:
        st.caption("Does a source answer it? Grade it. What stays without a grade is not labelled.")
    for citation in turn.citations:
        where = f", page {citation.page}" if citation.page is not None else ""
        st.segmented_control(
            f"**{citation.n}** {plain(citation.document)}{where}: {plain(_words(citation))}",
            GRADES,
            key=_grade_key(turn, citation),
            help=MEANINGS,
        )
    confirm_button("Add", f"chat_collect_store_{turn.id}", _store, base, turn)


def _grade_key(turn: Turn, citation: StoredCitation) -> str:
    return f"chat_collect_grade_{turn.id}_{citation.n}"


def _words(citation: StoredCitation) -> str:
    words = " ".join((citation.quote or citation.text).split())
    return f"{words[:160]}…" if len(words) > 160 else words


def _store(base: KnowledgeBase, turn: Turn) -> None:
    graded = {
        citation: int(grade)
        for citation in turn.citations
        if (grade := st.session_state.get(_grade_key(turn, citation))) is not None
    }
    name = (st.session_state[SET] or FIRST_SET).strip()
    base.question_edits.collect(name, turn.complete)
    for citation, grade in graded.items():
        start, end = _span(citation)
        base.passage_labels.grade(name, turn.complete, citation.document_id, start, end, grade)
    labels = f" with {counted(len(graded), 'label')}" if graded else ""
    st.session_state[f"{ADDED}_{turn.id}"] = f"Added to {plain(name)}{labels}."


def _span(citation: StoredCitation) -> tuple[int, int]:
    """Where the quoted words stand in the document; without a quote, the passage."""
    at = citation.text.find(citation.quote) if citation.quote else -1
    if at < 0:
        return citation.start, citation.end
    return citation.start + at, citation.start + at + len(citation.quote)
