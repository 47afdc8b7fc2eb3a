"""Identification of the visitor: a signed-in person, a guest with a link, a browser's key."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.components.shell.cookies import (
    LEFT,
    SHARED,
    VISITOR,
    is_key,
    is_secret,
    new_key,
    sign_in_key,
    stored_key,
)
from rag import LOCAL, Claims, NotAllowed, Person, Principal, SessionOwner, Workspace

log = logging.getLogger(__name__)

_PERSON = "identity_person"


class SignInNeeded(NotAllowed):
    """No one has signed in yet."""


class SignedOut(SignInNeeded):
    """The sign-in of this session ended, for example in another tab."""

    @property
    def known(self) -> bool:
        """Whether somebody was signed in here: then the browser has another cookie by now."""
        return _PERSON in st.session_state


class VisitOver(NotAllowed):
    """A guest left, and nobody signs in here."""


def configured() -> bool:
    """Whether Streamlit was told of an identity provider: ``[auth]`` in its secrets."""
    return hasattr(st.user, "is_logged_in")


def claims() -> Claims | None:
    """The claims of the identity provider about the visitor; None before the sign-in."""
    user = st.user.to_dict()
    if not user.get("is_logged_in"):
        return None
    issuer = str(user.get("iss") or user.get("provider") or "")
    return Claims(
        issuer=issuer,
        subject=str(user.get("sub") or user.get("email") or ""),
        email=str(user.get("email") or ""),
        name=str(user.get("name") or ""),
        verified=_verified(user.get("email_verified")),
        issued=_moment(user.get("iat")),
    )


def _moment(seconds: object) -> datetime | None:
    """A moment of a claim, in seconds since 1970; None where it says nothing that makes sense."""
    try:
        return datetime.fromtimestamp(float(str(seconds)), UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _verified(claim: object) -> bool | None:
    """Whether an address is the person's; some providers write it as a word (Cognito, Apple).

    None where nothing is said. What is not understood is no.
    """
    return None if claim is None else str(claim).casefold() == "true"


def share_secret() -> str:
    """The secret of the link that this browser opened; "" for none, and without a browser."""
    return st.context.cookies.get(SHARED, "") if st.context.headers else ""


def principal(workspace: Workspace) -> Principal:
    """Return the principal of the current session. Raises SignInNeeded, NotAllowed."""
    people = workspace.access.people
    if get_script_run_ctx() is None and people.in_use():
        raise NotAllowed("No page is open here.")
    if is_secret(secret := share_secret()):
        link = workspace.access.link(secret)
        if link is None:
            raise NotAllowed(
                "This link is not valid: its time is over, or it was revoked.",
                "Ask the person who sent it for a new one.",
            )
        return Principal(link=link, via="link", key_id=link.id)
    if not workspace.settings.sign_in:
        return _local()
    if configured():
        return Principal(_person(workspace))
    if people.in_use():
        raise NotAllowed(
            "The sign-in of this server is not set up any more.",
            "Bring back [auth] in .streamlit/secrets.toml, or set TOUCHSTONE_SIGN_IN=0.",
        )
    return _local()


def _local() -> Principal:
    """Return the principal where nobody signs in. Raises VisitOver for a guest who just left."""
    if st.context.headers and st.context.cookies.get(LEFT):
        raise VisitOver("Your visit is over.", "To come back, open the link again.")
    return Principal()


def _person(workspace: Workspace) -> Person:
    current_claims = claims()
    if current_claims is None:
        raise SignInNeeded("You are not signed in.", "Sign in.")
    people, sign_ins = workspace.access.people, workspace.access.sign_ins
    key = sign_in_key(st.context.cookies) if st.context.headers else ""
    if key and sign_ins.ended([key]):
        raise SignedOut("You are signed out.", "Sign in again.")
    signed_in: tuple[Claims, Person] | None = st.session_state.get(_PERSON)
    if signed_in is None or signed_in[0] != current_claims:
        try:
            person = people.sign_in(current_claims)
        except NotAllowed as error:
            log.warning("A sign-in was refused: %s", error.message)
            raise
        signed_in = st.session_state[_PERSON] = (current_claims, person)
        if key:
            sign_ins.begin(key, signed_in[1].id)
    elif not people.has(signed_in[1]):  # another tab, or an administrator
        raise NotAllowed(
            "This account was deleted.",
            "Sign out. If you still have access, you can sign in again.",
        )
    return signed_in[1]


def providers() -> list[str]:
    """The names of the identity providers; [""] where there is one without a name."""
    auth = st.secrets["auth"]
    named = [
        name
        for name, section in auth.items()
        if isinstance(section, Mapping) and "client_id" in section
    ]
    return named or [""]


_VISITOR = "visitor"
_FORWARDED = ("Forwarded", "X-Forwarded-For", "X-Real-Ip", "Via")


def visitor() -> SessionOwner:
    """Return the visitor of the session, cached in session state."""
    owner: SessionOwner | None = st.session_state.get(_VISITOR)
    if owner is None:
        context = st.context
        owner = visitor_of(context.headers, context.cookies, context.ip_address)
        st.session_state[_VISITOR] = owner
    return owner


def visitor_of(
    headers: Mapping[str, str], cookies: Mapping[str, str], address: str | None
) -> SessionOwner:
    """The visitor of a connection. One that keeps no cookies is another one each time.

    A browser on this machine sees the conversations of the command line too, and those from before
    there were visitors. Without any headers there is no browser: it is a test of a page.
    """
    if not headers:
        return LOCAL
    key = cookies.get(VISITOR, "")
    mine = stored_key(key if is_key(key) else new_key())
    return SessionOwner(mine, (mine, LOCAL.key) if _is_here(headers, address) else (mine,))


def is_here() -> bool:
    """Whether the browser of this session runs on the machine of the server."""
    return _is_here(st.context.headers, st.context.ip_address)


def _is_here(headers: Mapping[str, str], address: str | None) -> bool:
    """Whether a browser runs on this machine, and not behind a proxy that does.

    ``address`` is None for a connection from this machine. A proxy here connects from here too,
    but the browser's own origin is then another one, or the proxy says that it forwards.
    """
    forwarded = any(headers.get(name) for name in _FORWARDED)
    return address is None and is_loopback(headers.get("Origin") or "") and not forwarded


def is_loopback(url: str) -> bool:
    """Whether an address is of this machine alone: nobody else reaches it by that name."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
