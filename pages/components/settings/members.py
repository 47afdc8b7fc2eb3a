"""Access: members, share links, accounts, and tokens of the API."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.shell.buttons import action_button, confirm_button, dialog, filled_button
from pages.components.shell.door import end_session
from pages.components.shell.guard import guard
from pages.components.shell.identity import is_loopback
from pages.components.shell.session import chosen_base, draft_key, draft_stored, workspace
from pages.components.shell.text import plain
from rag import ROLES, SCOPES, KnowledgeBase, LinkRow, Member, Person, TokenRow, share_path


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
            _confirm_account(person)


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
                _confirm_account(person)


@dialog("Delete this account?", icon=":material/delete_forever:")
def _confirm_account(person: Person) -> None:
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


_NEW_LINK = "links_shown"  # the link that was just made, until the next run
LIVES = {"1 day": 1, "7 days": 7, "30 days": 30, "1 year": 365}
"""How long a link may be valid, in days."""


def members_view() -> None:
    """The members of the chosen knowledge base; owners choose them."""
    base = chosen_base()
    owns = workspace().role_in(base.id) == "owner"
    st.caption(f"Members of *{plain(base.name)}* and their roles.")
    for member in base.access.members():
        _member(base, member, owns)
    if owns:
        _new_member(base)


def _member(base: KnowledgeBase, member: Member, owns: bool) -> None:
    person, mine = member.person, member.person.id == workspace().principal.person.id
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(person_label(person, ":gray[(you)]" * mine), width="stretch")
        if owns:
            st.selectbox(
                f"Role of {person.email}",
                list(ROLES),
                list(ROLES).index(member.role),
                key=f"members_role_{person.id}_{member.role}",
                label_visibility="collapsed",
                width=140,
                on_change=_change,
                args=(base, member),
            )
        else:
            st.markdown(member.role)
        if mine:
            key = f"members_leave_{person.id}"
            action_button("Leave", key, "logout", workspace().leave, base.name)
        elif owns:
            key = f"members_remove_{person.id}"
            if st.button("Remove", key=key, icon=":material/person_remove:"):
                _confirm_removal(base, member)


@dialog("Remove this member?", icon=":material/person_remove:")
def _confirm_removal(base: KnowledgeBase, member: Member) -> None:
    email = member.person.email
    st.markdown(
        f"{plain(email)} can't open **{plain(base.name)}** any more. Their labels, question sets "
        "and runs stay."
    )
    confirm_button("Remove", "members_remove_really", base.access.remove_member, email)


@guard(in_dialog=True)
def _change(base: KnowledgeBase, member: Member) -> None:
    role = st.session_state[f"members_role_{member.person.id}_{member.role}"]
    base.access.change_member(member.person.email, role)


def _new_member(base: KnowledgeBase) -> None:
    with st.form("members_form"):
        key = draft_key("members", "members_email")
        email = st.text_input("E-mail", key=key, placeholder="ann@example.org")
        role = st.selectbox(
            "Role",
            list(ROLES),
            key="members_new_role",
            format_func=lambda role: f"{role}: {ROLES[role]}",
        )
        submitted = filled_button("Add", draw=st.form_submit_button)
    if submitted:
        with guard():
            base.access.add_member(email, role)
            draft_stored("members")
            st.rerun()


def links_view() -> None:
    """The links that show the chosen knowledge base, and a form for a new one."""
    base = chosen_base()
    st.caption(
        f"People with a link that you create here can ask questions in *{plain(base.name)}*, view "
        "its runs and reports, and see all its tours. A link that was made on *Tours* opens the "
        "chat and one tour only. A link works until it expires or you revoke it."
    )
    titles = {tour.id: tour.title for tour in base.conversations.tours.list_tours()}
    people = {one.person.id: one.person.display_name for one in base.access.members()}
    for row in (row for row in base.access.links() if row.valid):
        _link(base, row, titles, people)
    if address := st.session_state.pop(_NEW_LINK, ""):
        show_once(address)
    with st.form("links_form"):
        key = draft_key("links", "links_name")
        name = st.text_input("Name", key=key, placeholder="Who is it for?", max_chars=80)
        life = st.selectbox("Valid", list(LIVES), index=1, key="links_life")
        submitted = st.form_submit_button("Make a link", icon=":material/add_link:")
    if submitted:
        with guard():
            address = make_link(base, name, LIVES[life])
            draft_stored("links")
            st.session_state[_NEW_LINK] = address
            st.rerun()


def make_link(base: KnowledgeBase, name: str, days: int, tour_id: int | None = None) -> str:
    """Create a link to the chat, the runs and the tours, or to the chat and one tour.

    Return its address.
    """
    secret, _ = base.access.create_link(name, days, workspace().principal.person.id, tour_id)
    server = (st.context.url or "").rpartition("/")[0]
    return server + share_path(secret, tour_id)


def show_once(address: str) -> None:
    """The address of a new link; that of a server which others reach is theirs to know."""
    st.success("Copy the link now. The page shows it only once.", icon=":material/link:")
    st.code(address, language=None, wrap_lines=True)
    if is_loopback(address):
        server = address.partition("/share/")[0]
        st.warning(
            f"This address works on this machine only. For others, replace `{server}` with the "
            "address at which they reach this server.",
            icon=":material/lan:",
        )


def _link(
    base: KnowledgeBase, row: LinkRow, titles: Mapping[int, str], people: Mapping[str, str]
) -> None:
    """Draw a link: its name, who made it when, until when it is valid, and what it shows."""
    shows = "shows the chat, the runs and all tours"
    if row.tour_id is not None:
        tour = f"the tour {titles[row.tour_id]}" if row.tour_id in titles else "a deleted tour"
        shows = f"shows the chat and {tour}"
    maker = f" by {people[row.maker]}" if row.maker in people else ""
    made = f"made {row.created:%Y-%m-%d %H:%M} UTC{maker}"
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
        details = plain(f"{made} · until {row.expires:%Y-%m-%d} · {shows}")
        st.markdown(f"**{plain(row.name)}** :gray[{details}]", width="stretch")
        if st.button("Revoke", key=f"links_revoke_{row.id}", icon=":material/delete:"):
            _confirm_link(base, row)


@dialog("Revoke this link?", icon=":material/delete:")
def _confirm_link(base: KnowledgeBase, row: LinkRow) -> None:
    st.markdown(f"People with the link **{plain(row.name)}** lose access at once.")
    confirm_button("Revoke", "links_revoke_really", base.access.revoke_link, row.id)


_NEW_TOKEN = "tokens_shown"  # the token that was just made, until the next run
_TOKEN_LIVES = {"30 days": 30, "90 days": 90, "1 year": 365, "for ever": None}


def tokens_view() -> None:
    """All tokens that let somebody in, and a form for a new one."""
    st.caption(
        "Programs use the API with a token. The page shows it only once, because the server "
        "stores only a digest."
    )
    valid_tokens = [row for row in workspace().tokens() if row.valid]
    for row in valid_tokens:
        _token(row)
    if not valid_tokens:
        st.markdown("No tokens yet.")
    if secret := st.session_state.pop(_NEW_TOKEN, ""):
        st.success("Copy the token now.", icon=":material/key:")
        st.code(secret, language=None, wrap_lines=True)
    _new_token()


def _token(row: TokenRow) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="small"):
        until = f"until {row.expires:%Y-%m-%d}" if row.expires else "for ever"
        used = f"used {row.used:%Y-%m-%d}" if row.used else "never used"
        scopes = plain(", ".join(row.scopes))
        st.markdown(f"**{plain(row.name)}** :gray[{scopes} · {until} · {used}]", width="stretch")
        if st.button("Revoke", key=f"tokens_revoke_{row.id}", icon=":material/delete:"):
            _confirm_token(row)


def _new_token() -> None:
    with st.form("tokens_form"):
        key = draft_key("tokens", "tokens_name")
        name = st.text_input("Name", key=key, placeholder="What is it for?")
        st.caption("What it allows")
        with st.container(gap="xsmall"):
            scopes = [scope for scope in SCOPES if _allows(scope)]
        life = st.selectbox("Valid", list(_TOKEN_LIVES), index=1, key="tokens_life")
        submitted = filled_button("Make a token", draw=st.form_submit_button)
    if submitted:
        with guard():
            secret, _ = workspace().create_token(name, scopes, _TOKEN_LIVES[life])
            st.session_state[_NEW_TOKEN] = secret
            draft_stored("tokens")
            st.rerun()


def _allows(scope: str) -> bool:
    key = draft_key("tokens", f"tokens_scope_{scope}")
    return st.checkbox(f"**{scope}**: {SCOPES[scope]}", scope == "read", key=key)


@dialog("Revoke this token?", icon=":material/delete:")
def _confirm_token(row: TokenRow) -> None:
    st.markdown(f"Programs with the token **{plain(row.name)}** lose access at once.")
    confirm_button("Revoke", "tokens_revoke_really", workspace().revoke_token, row.id)
