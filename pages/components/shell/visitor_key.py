"""The key by which a browser is known again: random, and kept in a cookie.

Imports nothing of the dashboard, because the server has it before its first answer.
"""

from __future__ import annotations

import re
import secrets
from hashlib import sha256

COOKIE = "touchstone_visitor"
_KEY = re.compile(r"[A-Za-z0-9_-]{43}")
_SECONDS = 60 * 60 * 24 * 400  # the longest that browsers keep a cookie


def new_key() -> str:
    """256 random bits."""
    return secrets.token_urlsafe(32)


def is_key(text: str) -> bool:
    """Whether it can be a key that was made here."""
    return _KEY.fullmatch(text) is not None


def stored_key(key: str) -> str:
    """The stored form of a key: a digest, so that a database reader can't impersonate a visitor."""
    return sha256(key.encode()).hexdigest()[:32]


def cookie(key: str, *, secure: bool) -> str:
    """The header that has a browser keep a key, out of reach of scripts and of other sites."""
    cookie_text = f"{COOKIE}={key}; Path=/; Max-Age={_SECONDS}; HttpOnly; SameSite=Lax"
    return f"{cookie_text}; Secure" if secure else cookie_text
