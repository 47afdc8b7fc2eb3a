"""The owner of the conversations on the page: the browser's key, or the person who signed in."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st

from pages.components.shell.visitor_key import COOKIE, is_key, new_key, stored_key
from rag import LOCAL, SessionOwner

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
    key = cookies.get(COOKIE, "")
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
