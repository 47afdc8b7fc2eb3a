"""People: one's own account, and for administrators those of all."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import confirm_button
from pages.components.shell.door import end_session
from pages.components.shell.session import workspace
from pages.components.shell.text import plain
from rag import Person


def person_label(person: Person, *more: str) -> str:
    """A person's name and address as markdown; an address stands for the name until a sign-in."""
    known = person.display_name != person.email
    address = f":gray[{plain(person.email)}]" if known else ""
    return " ".join(filter(None, (f"**{plain(person.display_name)}**", address, *more)))


def account_view() -> None:
    """Draw the account of the signed-in person, with a button to delete that person's data."""
    person = workspace().principal.person
    role = "administrator" if person.administrator else ""
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(person_label(person, f":gray[{role}]" * bool(role)), width="stretch")
        if st.button("Delete my data", key="account_delete", icon=":material/delete_forever:"):
            _confirm(person)


def people_view() -> None:
    """Everybody who signed in or was invited."""
    mine = workspace().principal.person.id
    for person in workspace().people().list_all():
        if person.id == mine:
            continue
        with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
            st.markdown(person_label(person), width="stretch")
            key = f"people_delete_{person.id}"
            if st.button("Delete", key=key, icon=":material/delete:"):
                _confirm(person)


@st.dialog("Delete this account?", icon=":material/delete_forever:")
def _confirm(person: Person) -> None:
    st.markdown(
        "This permanently deletes the conversations, memory, feedback, votes, tokens and "
        f"memberships of **{plain(person.email)}**. Labels, question sets and runs stay, "
        "without the name."
    )
    confirm_button("Delete", "account_delete_really", _forget, person)


def _forget(person: Person) -> None:
    mine = person.id == workspace().principal.person.id
    workspace().forget(person)
    if mine:
        end_session()
