"""The way in: the bounds of an address, who may come in, and in the sidebar the way out."""

from __future__ import annotations

import streamlit as st

from pages.components.shell import identity
from pages.components.shell.buttons import filled_button
from pages.components.shell.cookies import COME_IN, LEAVE, SIGN_OUT
from pages.components.shell.guard import guard, show_error
from pages.components.shell.identity import SignedOut, SignInNeeded, VisitOver
from pages.components.shell.notices import later
from pages.components.shell.session import workspace
from pages.components.shell.text import plain
from pages.components.shell.visitor import is_here
from rag import LONGEST_QUESTION, NotAllowed, find_fault

_MOST_VALUES = 100  # of one parameter of an address


def bound_address() -> None:
    """Take parameters out of the address that are too long or no text, and say so."""
    unread = [name for name in st.query_params if not _is_readable(name)]
    for name in unread:
        del st.query_params[name]
    if unread:
        later(
            lambda: st.warning(
                "A part of this address was left out: it is too long, or it is not text."
            )
        )


def _is_readable(name: str) -> bool:
    values = st.query_params.get_all(name)
    fits = sum(map(len, values)) <= LONGEST_QUESTION and len(values) <= _MOST_VALUES
    return fits and len(name) <= _MOST_VALUES and not find_fault([name, *values])


_GO = "export default function ({ data }) { window.location.assign(data); }"
_go = st.components.v2.component("go_to_address", html="<span></span>", js=_GO)
_SIGN_OUT = """export default function ({ data }) {
  fetch(data, { method: "POST" })
    .then((answer) => answer.json())
    .then(({ location }) => window.location.assign(location));
}"""
_sign_out = st.components.v2.component("sign_out", html="<span></span>", js=_SIGN_OUT)
_reload = st.components.v2.component(
    "reload", html="<span></span>", js="export default () => window.location.reload();"
)
_ENDS = "door_ends"  # state key: the account of this session was deleted by its person


def let_in() -> bool:
    """Whether somebody may come in; else the page says why not, and how to."""
    try:
        workspace()
    except SignInNeeded as error:
        with guard():
            _sign_in()
        if isinstance(error, SignedOut) and error.known:
            _reload(key="door_reload", height=1)
        return False
    except VisitOver as error:
        _farewell(error)
        return False
    except NotAllowed as error:
        show_error(error.message, error.hint)
        if identity.claims() and (
            st.button("Sign out", key="door_out") or st.session_state.get(_ENDS)
        ):
            _sign_out(key="door_end", data=SIGN_OUT, height=1)
        if identity.share_secret():
            _leave_button()
        return False
    return True


def end_session() -> None:
    """Sign out at the next run: the account is deleted."""
    st.session_state[_ENDS] = True


def _sign_in() -> None:
    st.title("Sign in")
    st.markdown("You are signed out. Knowledge bases here are seen by their members only.")
    for number, name in enumerate(identity.providers()):
        label = f"Sign in with {plain(name.title())}" if name else "Sign in"
        options = {"key": f"door_in_{name}", "on_click": st.login, "args": (name,) if name else ()}
        if number:
            st.button(label, **options)
        else:
            filled_button(label, **options)


def _farewell(error: VisitOver) -> None:
    """Draw the end of a guest's visit, and on the machine of the server a way into all of it."""
    st.title(error.message.removesuffix("."))
    st.markdown(error.hint)
    if is_here():
        st.caption("This browser runs on the machine of the server, which has no sign-in.")
        if st.button("Open the whole application", key="door_come_in"):
            _go(key="door_in", data=COME_IN, height=1)


def who_is_in() -> None:
    """Draw the name of the visitor and a button to leave; draw nothing without a sign-in."""
    principal = workspace().principal
    if principal.link is not None:
        with st.container(horizontal=True, vertical_alignment="center"):
            until = f"{principal.link.expires:%Y-%m-%d}"
            st.caption(f"Shown to you by a link until {until}.", width="stretch")
            _leave_button()
    elif not principal.local:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(plain(principal.person.display_name), width="stretch")
            if st.button("Sign out", key="door_out", icon=":material/logout:", type="tertiary"):
                _sign_out(key="door_end", data=SIGN_OUT, height=1)


def _leave_button() -> None:
    """A button that forgets the link that was opened; what follows opens in the same tab.

    A link would open in another one, as every link of Streamlit does.
    """
    label, icon = "Leave", ":material/logout:"
    if st.button(label, key="door_leave", icon=icon, type="tertiary"):
        _go(key="door_go", data=LEAVE, height=1)


def role_note(base_id: int) -> None:
    """Draw the permissions of a viewer or labeller; draw nothing for any other role."""
    principal = workspace().principal
    role = None if principal.local or principal.link else workspace().role_in(base_id)
    if role in ("viewer", "labeller"):
        allowed_actions = {"viewer": "view and ask", "labeller": "view, ask and label"}[role]
        st.caption(f":material/visibility: You can {allowed_actions} here, as {role}.")
