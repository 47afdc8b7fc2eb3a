"""The Tour page: a sequence of stops for stakeholders, and its composition by an owner."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.components.settings.members import LIVES, make_link, show_once
from pages.components.shell.buttons import (
    action_button,
    confirm_button,
    dialog,
    download_button,
    filled_button,
)
from pages.components.shell.guard import guard
from pages.components.shell.session import chosen_base, guest, link_tour, refusal, to_url
from pages.components.shell.text import plain
from pages.components.tours import changes_since, stop_view
from rag import KnowledgeBase, NotFound, TourData, counted, tour_html

TOUR = "tour"  # the URL's parameter: the id of the tour
STOP = "stop"  # the URL's parameter: the number of the stop, from 1
_DIGITS = 9  # of an id or a number
_EDITED = "tour_edited"  # the tour that the form is about
_LIFE = "tour_life"  # how long a new link is valid
_LINK = "tour_link"  # the address that was just made, until the next run


def main() -> None:
    """Draw the tour of the address, or all tours."""
    base = chosen_base()
    tour = _named(base)
    if tour is None:
        _overview(base)
        return
    st.title(plain(tour.title))
    owns = not refusal(base, "conversations.tours.save")
    if owns:
        _share(base, tour)
    if tour.stops:
        _read(base, tour)
    else:
        st.markdown("This tour has no stops yet.")
    if owns:
        _compose(base, tour)


def _named(base: KnowledgeBase) -> TourData | None:
    """Return the tour of the guest's link, or else of the address; None for all tours."""
    shown = link_tour()
    if shown is None and TOUR not in st.query_params:
        return None
    try:
        return base.conversations.tours.get(_number(TOUR) if shown is None else shown)
    except NotFound:
        advice = " Ask the person who sent it for a new one." if guest() else ""
        st.warning(f"The tour of this link was deleted.{advice}", icon=":material/tour:")
        return None


def _number(name: str) -> int:
    """Return a number of the address; 0 for anything else."""
    parameter = st.query_params.get(name, "")
    return int(parameter) if parameter.isdecimal() and len(parameter) <= _DIGITS else 0


def _overview(base: KnowledgeBase) -> None:
    st.title("Tours")
    if link_tour() is not None:  # its tour was deleted
        return
    tours = base.conversations.tours.list_tours()
    st.markdown("A tour leads through an answer, its page, why it was found, and how good it is.")
    for tour in tours:
        with st.container(border=True, horizontal=True, vertical_alignment="center"):
            stops = counted(len(tour.stops), "stop")
            st.markdown(f"**{plain(tour.title)}** :gray[{stops}]", width="stretch")
            opened = partial(to_url, TOUR, str(tour.id))
            action_button("Open", f"tour_open_{tour.id}", "play_arrow", opened)
    if tours or guest():
        return
    st.markdown(
        "Build one from the pages: **Add to tour** is below each answer, beside a passage in "
        "the inspector, and on Runs. Then share the tour by a link."
    )
    st.page_link("chat.py", label="Ask a question to begin", icon=":material/forum:")


def _read(base: KnowledgeBase, tour: TourData) -> None:
    """Draw one stop, with the way to the others."""
    total = len(tour.stops)
    number = min(max(_number(STOP), 1), total)
    if total > 1:
        st.progress(number / total, f"Stop {number} of {total}")
    with st.container(horizontal=True, vertical_alignment="center"):
        if total > 1:
            back = {"disabled": number == 1}
            action_button("Back", "tour_back", "arrow_back", to_url, STOP, str(number - 1), **back)
            _next_button(number, total)
        download_button(
            "Print version",
            partial(tour_html, tour, base.name),
            f"tour-{tour.id}.html",
            "tour_print",
            "print",
            mime="text/html",
            help="One HTML file with all stops. Open it and print it; it needs no network.",
        )
    stop = tour.stops[number - 1]
    if updated := changes_since(base, tour, stop):
        st.session_state[_EDITED] = updated
        st.rerun()
    stop_view(stop)
    if number == total:
        _what_then(base)
    else:
        _ask_link(base)


def _what_then(base: KnowledgeBase) -> None:
    """Draw the ways on from the last stop."""
    st.divider()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**That was the last stop.**")
        _ask_link(base)
        action_button("Start again", "tour_again", "restart_alt", to_url, STOP, "1")


def _ask_link(base: KnowledgeBase) -> None:
    if not refusal(base, "ask"):
        st.page_link("chat.py", label="Ask your own question", icon=":material/forum:")


def _next_button(number: int, total: int) -> None:
    filled_button(
        "Next",
        key="tour_next",
        icon=":material/arrow_forward:",
        disabled=number == total,
        on_click=to_url,
        args=(STOP, str(number + 1)),
    )


def _compose(base: KnowledgeBase, tour: TourData) -> None:
    """Draw what else its owner does with a tour: order, describe, delete."""
    with st.expander("Edit this tour", icon=":material/edit:", key="tour_edit"):
        _edit(base, _edited(tour))
        if st.button("Delete tour", key="tour_delete", icon=":material/delete:"):
            _confirm(base, tour)


def _edited(tour: TourData) -> TourData:
    """Return the tour that the form is about: as it was when the form was first drawn.

    Another tab may change the tour while somebody types here.
    """
    edited = st.session_state.get(_EDITED)
    if edited is None or edited.id != tour.id or _title_key(edited) not in st.session_state:
        edited = st.session_state[_EDITED] = tour
    return edited


def _title_key(tour: TourData) -> str:
    return f"tour_title_{tour.id}_{tour.changed:%H%M%S%f}"


def _edit(base: KnowledgeBase, tour: TourData) -> None:
    """Draw a form for the title, and for the place and note of each stop."""
    with st.form("tour_form", border=False):
        title = st.text_input("Title", tour.title, max_chars=80, key=_title_key(tour))
        edits = [_stop_fields(tour, index) for index in range(len(tour.stops))]
        submitted = st.form_submit_button("Save", icon=":material/save:")
    if submitted:
        stops = [tour.stops[index].with_note(edits[index][1]) for index in _order(edits)]
        st.session_state[_EDITED] = base.conversations.tours.save(tour, title, stops)
        st.rerun()


def _order(edits: Sequence[tuple[int, str]]) -> list[int]:
    """Return the indexes of stops by their new places; place 0 leaves one out.

    A stop that moved goes before or behind the one that has its place.
    """
    places = {
        index: place + 0.5 * ((place > index + 1) - (place < index + 1))
        for index, (place, _) in enumerate(edits)
        if place
    }
    return sorted(places, key=lambda index: (places[index], index))


def _stop_fields(tour: TourData, index: int) -> tuple[int, str]:
    """Draw and return the place of a stop, 0 to remove it, and its note."""
    stop, key = tour.stops[index], f"{tour.id}_{tour.changed:%H%M%S%f}_{index}"
    place_column, note_column = st.columns([1, 4], vertical_alignment="top")
    with place_column:
        place = st.number_input(
            "Place", 0, len(tour.stops), index + 1, key=f"tour_place_{key}", help="0 removes it."
        )
    with note_column:
        # A label is read aloud as it is written: it must not have the backslashes of markdown.
        st.caption(plain(stop.title))
        note = st.text_area(
            " ".join(stop.title.split()),
            stop.note,
            max_chars=2_000,
            key=f"tour_note_{key}",
            height=80,
            label_visibility="collapsed",
        )
    return int(place), note


def _share(base: KnowledgeBase, tour: TourData) -> None:
    """Draw the button that makes a link to a tour, and the link that was just made."""
    if st.button("Make a link", key="tour_share", icon=":material/add_link:"):
        _link_dialog(base, tour)
    if address := st.session_state.pop(_LINK, ""):
        show_once(address)


@dialog("Share this tour by a link", icon=":material/add_link:")
def _link_dialog(base: KnowledgeBase, tour: TourData) -> None:
    st.markdown(
        "People with the link see this tour, but no other tours and no runs. They can also ask "
        f"questions in *{plain(base.name)}*, until the link expires or somebody revokes it on "
        "*Settings*."
    )
    st.selectbox("Valid", list(LIVES), index=1, key=_LIFE)
    confirm_button("Make a link", "tour_share_really", _make_link, base, tour)


def _make_link(base: KnowledgeBase, tour: TourData) -> None:
    days = LIVES[st.session_state[_LIFE]]
    st.session_state[_LINK] = make_link(base, tour.title, days, tour.id)


@dialog("Delete this tour?", icon=":material/delete:")
def _confirm(base: KnowledgeBase, tour: TourData) -> None:
    st.markdown(
        f"**{plain(tour.title)}** and its stops are deleted. People with a link to it can then "
        "only ask questions."
    )
    confirm_button("Delete", "tour_delete_really", _delete, base, tour)


def _delete(base: KnowledgeBase, tour: TourData) -> None:
    base.conversations.tours.delete(tour.id)
    to_url(TOUR, "")
    to_url(STOP, "")


with guard():
    main()
