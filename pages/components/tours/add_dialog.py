"""Keeping what a page shows as a stop of a tour, for those who may compose tours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from pages.components.shell.buttons import confirm_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import refusal
from pages.components.shell.text import plain
from pages.components.tours.stop_view import stop_view
from rag import LONGEST_TOUR_TITLE, KnowledgeBase, TourStop, counted

_ADDED = "tour_added"
_LAST = "tour_last"  # the id of the tour that got a stop last
_NEW = 0  # in the place of a tour's id
_TOUR, _TITLE, _NOTE = "tour_add_to", "tour_add_title", "tour_add_note"

Stops = Callable[[], Sequence[TourStop]]


def tour_button(base: KnowledgeBase, key: str, stops: Stops, hint: str = "") -> None:
    """Draw a button that keeps ``stops()`` in a tour; draw nothing for those who may not.

    The dialog shows ``hint`` above the preview of the stops.
    """
    if refusal(base, "tours.add"):
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
        st.page_link(
            "tour.py",
            label="Open the tour",
            help=plain(title),  # a long title would be squeezed beside the buttons of a phone
            icon=":material/play_arrow:",
            query_params={"tour": str(tour_id)},
        )


@st.dialog("Add to a tour", icon=":material/tour:", width="medium")
def _add(base: KnowledgeBase, key: str, stops: Stops, hint: str) -> None:
    with guard(in_dialog=True):
        titles = {tour.id: tour.title for tour in base.tours.list_tours()}
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
        tour = base.tours.get(base.tours.create(title, stops))
    else:
        tour = base.tours.add(tour_id, stops)
    st.session_state[_LAST] = tour.id
    st.session_state[f"{_ADDED}_{key}"] = (tour.id, tour.title)
