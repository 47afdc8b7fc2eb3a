"""Answers as stops of a tour: from a turn of the chat, and answered anew."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from pages.components.shell.guard import guard
from pages.components.shell.permission import refusal
from pages.components.shell.text import plain
from rag import (
    AnswerBasis,
    KnowledgeBase,
    Tour,
    TourStop,
    Turn,
    answer_stops,
    answered_anew,
    unstored_turn,
)


def turn_stops(base: KnowledgeBase, turn: Turn, opened: int = 0) -> list[TourStop]:
    """Return the answer of a turn, and a page that it cites, as stops of a tour.

    The page is that of the citation with the number ``opened``, if there is one.
    """
    own = [citation for citation in turn.citations if citation.base in ("", base.name)]
    cited = {citation.document_id for citation in own if not citation.from_tool}
    documents = {key: base.documents.document(key) for key in cited if base.outline(key)}
    answered = turn.created or datetime.now(UTC)
    basis = base.tours.basis(turn.complete, answered, turn.recipe, cited)
    return answer_stops(turn, documents, basis, opened)


def changes_since(base: KnowledgeBase, tour: Tour, stop: TourStop) -> Tour | None:
    """Say what changed since the answer of a stop; draw a button that asks again for owners.

    Return the tour with the new answer, once the button is pressed.
    """
    basis = stop.basis
    changed = base.tours.changes(basis) if basis else ()
    if basis is None or not changed:
        return None
    words = {
        "documents": "the documents changed since",
        "recipe": "the saved recipe is another one",
    }
    said = ", and ".join(words[part] for part in changed)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/update: Answer from {basis.answered:%Y-%m-%d}; {said}.")
        if refusal(base, "tours.save") or not st.button(
            "Update",
            key="tour_update",
            icon=":material/refresh:",
            help="Asks the question again, with the saved recipe, and replaces this stop and that "
            "of its page. Your words stay.",
        ):
            return None
    with guard(), st.spinner("Asking again"):
        return _answered_anew(base, tour, basis)
    return None


def _answered_anew(base: KnowledgeBase, tour: Tour, basis: AnswerBasis) -> Tour | None:
    """Return the tour with a complete new answer; without one, show what came, and keep the old."""
    recipe = base.recipe()
    turn = unstored_turn(basis.question, recipe, base.ask(basis.question, recipe).answer)
    if turn.status != "complete" or turn.state == "refused":
        refused = turn.state == "refused"
        why = "the documents no longer answer it" if refused else "the new answer is not complete"
        st.warning(
            f"The stop stays: {why}. {plain(turn.note or turn.answer)}",
            icon=":material/update_disabled:",
        )
        return None
    stops = answered_anew(tour.stops, basis, turn_stops(base, turn))
    return base.tours.save(tour, tour.title, stops)
