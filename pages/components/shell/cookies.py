"""Cookies: the link of a guest, a sign-in, the last knowledge base, the key of a browser.

The secret of a link becomes a cookie when it is opened, so it stands in no further address. The
cookie of a sign-in is Streamlit's; all tabs of a browser share it. The key is random; by it a
browser is known again. Imports nothing of the dashboard, because the server has it before its
first answer.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote

from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

SHARED = "touchstone_shared"
LEFT = "touchstone_left"
LEAVE, COME_IN = "/share/leave", "/share/come-in"
LAST_BASE = "touchstone_base"
"""The knowledge base that the browser looked at last, percent-encoded; a plain address opens it."""
SIGN_OUT = "/auth/logout"
"""Where Streamlit ends a sign-in."""
_SECRET = re.compile(r"share_[A-Za-z0-9_-]{43}")
_SECONDS = 60 * 60 * 24 * 365  # the link itself ends earlier


def is_secret(text: str) -> bool:
    """Whether it can be the secret of a link."""
    return _SECRET.fullmatch(text) is not None


def kept(secret: str, *, secure: bool) -> dict[str, Any]:
    """The parameters of the cookie for a secret, which scripts and other sites can't read."""
    return {
        "key": SHARED,
        "value": secret,
        "max_age": _SECONDS,
        "httponly": True,
        "samesite": "lax",
        "secure": secure,
    }


def left(*, secure: bool) -> dict[str, Any]:
    """The parameters of the cookie of a guest who left: until the browser is closed."""
    return {"key": LEFT, "value": "1", "httponly": True, "samesite": "lax", "secure": secure}


def base_cookie(name: str) -> str:
    """The cookie that keeps the name of a knowledge base, or forgets it where that is empty."""
    age = _SECONDS if name else 0
    return f"{LAST_BASE}={quote(name, safe='')}; Path=/; Max-Age={age}; SameSite=Lax"


def last_base(cookies: Mapping[str, str]) -> str:
    """Return the name of the knowledge base that a browser looked at last; "" for guests."""
    return "" if SHARED in cookies else unquote(cookies.get(LAST_BASE, ""))


def sign_in_key(cookies: Mapping[str, str]) -> str:
    """Return a digest of the sign-in that a browser sends; "" for none.

    A long cookie is in several parts.
    """
    parts = [f"{name}={text}" for name, text in sorted(cookies.items()) if _is_part(name)]
    return sha256("\n".join(parts).encode()).hexdigest() if USER_COOKIE_NAME in cookies else ""


def sets_sign_in(header: str) -> bool:
    """Whether a Set-Cookie header gives a browser another sign-in, or takes it away."""
    return header.startswith(f"{USER_COOKIE_NAME}=")


def _is_part(name: str) -> bool:
    base, _, number = name.rpartition("_")
    return name == USER_COOKIE_NAME or (base == USER_COOKIE_NAME and number.isdigit())


VISITOR = "touchstone_visitor"
_VISITOR_KEY = re.compile(r"[A-Za-z0-9_-]{43}")
_SECONDS_OF_KEY = 60 * 60 * 24 * 400  # the longest that browsers keep a cookie


def new_key() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Whether it can be a key that was made here."""
    return _VISITOR_KEY.fullmatch(text) is not None


def stored_key(key: str) -> str:
    """The stored form of a key: a digest, so that a database reader can't impersonate a visitor."""
    return sha256(key.encode()).hexdigest()[:32]


def visitor_cookie(key: str, *, secure: bool) -> str:
    """The header that has a browser keep a key, out of reach of scripts and of other sites."""
    cookie_text = f"{VISITOR}={key}; Path=/; Max-Age={_SECONDS_OF_KEY}; HttpOnly; SameSite=Lax"
    return f"{cookie_text}; Secure" if secure else cookie_text
