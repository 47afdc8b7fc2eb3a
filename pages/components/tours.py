"""Stops of a tour: one drawn for a reader, added from a page, and answered again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

import streamlit as st

from pages.components.shell.buttons import confirm_button, dialog
from pages.components.shell.guard import guard
from pages.components.shell.session import open_page, refusal
from pages.components.shell.text import lines, marked, plain
from rag import (
    LONGEST_TOUR_TITLE,
    AnswerBasis,
    CodeBlock,
    KnowledgeBase,
    TourData,
    TourQuote,
    TourStop,
    Turn,
    answer_stops,
    answered_anew,
    counted,
    unstored_turn,
)

_ICONS: Mapping[str, str] = {
    "answer": "forum",
    "page": "description",
    "why": "troubleshoot",
    "metrics": "monitoring",
    "comparison": "balance",
}


def stop_view(stop: TourStop) -> None:
    """Draw a stop: title, the owner's words, text, quotes, values and points."""
    st.subheader(f":material/{_ICONS[stop.kind]}: {plain(stop.title)}")
    if stop.note:
        st.info(lines(stop.note), icon=":material/campaign:")
    if stop.kind == "answer":
        _points(stop)
    if stop.text:
        st.markdown(lines(stop.shown_text()))
    _values(stop)
    for quote in stop.quotes:
        _quote(quote)
    if stop.kind != "answer":
        _points(stop)
    if stop.tested:
        with st.expander("How it was tested"):
            st.markdown(plain(stop.tested))


def _values(stop: TourStop) -> None:
    if stop.values:
        with st.grid(len(stop.values), min_column_width=170):
            for row in stop.values:
                with st.container(border=True, height="stretch", gap="xsmall"):
                    # Above the metric, whose own label is cut where it does not fit on a phone.
                    st.caption(plain(row.label))
                    st.metric(plain(row.label), row.value, label_visibility="collapsed")
                    st.caption(plain(row.detail))


def _quote(quote: TourQuote) -> None:
    with st.container(border=True, gap="xsmall"):
        st.caption(plain(quote.source))
        for part in quote.parts():
            if isinstance(part, CodeBlock):
                st.code(part.code, part.language or None, wrap_lines=True)
                continue
            start, end = len(part.before), len(part.before) + len(part.text)
            spans = [(start, end)] if quote.before or quote.after else []
            st.markdown(marked(f"{part.before}{part.text}{part.after}", spans))


def _points(stop: TourStop) -> None:
    """Draw the points as a list, a single one as a paragraph."""
    if stop.points:
        mark = "- " if len(stop.points) > 1 else ""
        st.markdown("\n".join(f"{mark}{plain(point)}" for point in stop.points))


_ADDED = "tour_added"
_LAST = "tour_last"  # the id of the tour that got a stop last
_NEW = 0  # in the place of a tour's id
_TOUR, _TITLE, _NOTE = "tour_add_to", "tour_add_title", "tour_add_note"

Stops = Callable[[], Sequence[TourStop]]


def tour_button(base: KnowledgeBase, key: str, stops: Stops, hint: str = "") -> None:
    """Draw a button that keeps ``stops()`` in a tour; draw nothing for those who may not.

    The dialog shows ``hint`` above the preview of the stops.
    """
    if refusal(base, "conversations.tours.add"):
        return
    if st.button(
        "Add to tour",
        key=f"tour_{key}",
        icon=":material/tour:",
        type="tertiary",
        help="Add this as a stop of a guided tour, which you can share by a link.",
    ):
        st.session_state.pop(_TOUR, None)  # a new dialog begins with the tour of the last stop
        _add(base, key, stops, hint)
    if added := st.session_state.get(f"{_ADDED}_{key}"):
        tour_id, title = added
        # A link has another height than the buttons beside it.
        if st.button(
            "Open the tour",
            key=f"tour_go_{key}",
            help=plain(title),  # a long title would be squeezed beside the buttons of a phone
            icon=":material/play_arrow:",
            type="tertiary",
        ):
            open_page("tour.py", {"tour": str(tour_id)})


@dialog("Add to a tour", icon=":material/tour:", width="medium")
def _add(base: KnowledgeBase, key: str, stops: Stops, hint: str) -> None:
    with guard(in_dialog=True):
        titles = {tour.id: tour.title for tour in base.conversations.tours.list_tours()}
        choices = [*titles, _NEW]
        last = st.session_state.get(_LAST)
        if _TOUR not in st.session_state:
            st.session_state[_TOUR] = last if last in titles else choices[0]
        tour_id = st.selectbox(
            "Tour",
            choices,
            key=_TOUR,
            format_func=lambda number: titles.get(number, "New tour"),
        )
        kept = list(stops())
        if tour_id == _NEW:
            st.text_input(
                "Title of the tour",
                base.name[:LONGEST_TOUR_TITLE],
                key=_TITLE,
                max_chars=LONGEST_TOUR_TITLE,
                help="Shown above every stop.",
            )
        st.text_area(
            "Your words for this stop",
            key=_NOTE,
            max_chars=2_000,
            placeholder="Optional: what should people notice here?",
        )
        st.markdown(f"This adds {counted(len(kept), 'stop')}:\n\n{_titles(kept)}")
        if hint:
            st.caption(hint)
        with st.expander("Preview"):
            for stop in kept:
                stop_view(stop)
        confirm_button("Add", "tour_add_really", partial(_keep, base, key, kept))
        if titles:
            st.page_link("tour.py", label="All tours", icon=":material/tour:")


def _titles(stops: Sequence[TourStop]) -> str:
    return "\n".join(f"1. {plain(stop.heading)}" for stop in stops)


def _keep(base: KnowledgeBase, key: str, stops: Sequence[TourStop]) -> None:
    first, *others = stops
    stops = [first.with_note(st.session_state[_NOTE]), *others]
    tour_id = int(st.session_state[_TOUR])
    if tour_id == _NEW:
        title = str(st.session_state.get(_TITLE) or "").strip() or base.name[:LONGEST_TOUR_TITLE]
        tour = base.conversations.tours.get(base.conversations.tours.create(title, stops))
    else:
        tour = base.conversations.tours.add(tour_id, stops)
    st.session_state[_LAST] = tour.id
    st.session_state[f"{_ADDED}_{key}"] = (tour.id, tour.title)


def turn_stops(base: KnowledgeBase, turn: Turn, opened: int = 0) -> list[TourStop]:
    """Return the answer of a turn, and a page that it cites, as stops of a tour.

    The page is that of the citation with the number ``opened``, if there is one.
    """
    own = [citation for citation in turn.citations if citation.base in ("", base.name)]
    cited = {citation.document_id for citation in own if not citation.from_tool}
    documents = {key: base.documents.document(key) for key in cited if base.documents.outline(key)}
    answered = turn.created or datetime.now(UTC)
    basis = base.conversations.tours.basis(turn.complete, answered, turn.recipe, cited)
    return answer_stops(turn, documents, basis, opened)


def changes_since(base: KnowledgeBase, tour: TourData, stop: TourStop) -> TourData | None:
    """Say what changed since the answer of a stop; draw a button that asks again for owners.

    Return the tour with the new answer, once the button is pressed.
    """
    basis = stop.basis
    changed = base.conversations.tours.changes(basis) if basis else ()
    if basis is None or not changed:
        return None
    words = {
        "documents": "the documents changed since",
        "recipe": "the saved recipe is another one",
    }
    said = ", and ".join(words[part] for part in changed)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/update: Answer from {basis.answered:%Y-%m-%d}; {said}.")
        if refusal(base, "conversations.tours.save") or not st.button(
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


def _answered_anew(base: KnowledgeBase, tour: TourData, basis: AnswerBasis) -> TourData | None:
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
    return base.conversations.tours.save(tour, tour.title, stops)
