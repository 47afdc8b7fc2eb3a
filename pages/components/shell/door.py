"""The way in: the sign-in page, and in the sidebar who is in and the way out."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import filled_button
from pages.components.shell.guard import guard, show_error
from pages.components.shell.identity import SignInNeeded, providers
from pages.components.shell.session import workspace
from pages.components.shell.share_cookie import LEAVE
from pages.components.shell.text import plain
from rag import NotAllowed


def let_in() -> bool:
    """Whether somebody may come in; else the page says why not, and how to."""
    try:
        workspace()
    except SignInNeeded:
        with guard():
            _sign_in()
        return False
    except NotAllowed as error:
        show_error(error.message, error.hint)
        if st.user.get("is_logged_in"):
            st.button("Sign out", key="door_out", on_click=st.logout)
        return False
    return True


def _sign_in() -> None:
    st.title("Sign in")
    st.markdown("Knowledge bases here are seen by their members only.")
    for number, name in enumerate(providers()):
        label = f"Sign in with {plain(name.title())}" if name else "Sign in"
        given = {"key": f"door_in_{name}", "on_click": st.login, "args": (name,) if name else ()}
        if number:
            st.button(label, **given)
        else:
            filled_button(label, **given)


def who_is_in() -> None:
    """Who is in, and the way out; nothing where nobody signs in."""
    asker = workspace().asker
    if asker.link is not None:
        st.caption(
            f"Shown to you by a link until {asker.link.expires:%Y-%m-%d}. [Leave]({LEAVE})",
        )
    elif not asker.local:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(plain(asker.person.called), width="stretch")
            st.button(
                "Sign out",
                key="door_out",
                icon=":material/logout:",
                type="tertiary",
                on_click=st.logout,
            )


def role_note(base_id: int) -> None:
    """What may be done in the chosen knowledge base, where that is not everything."""
    asker = workspace().asker
    role = None if asker.local or asker.link else workspace().role_in(base_id)
    if role in ("viewer", "labeller"):
        told = {"viewer": "look and ask", "labeller": "look, ask and label"}[role]
        st.caption(f":material/visibility: You may {told} here, as {role}.")
