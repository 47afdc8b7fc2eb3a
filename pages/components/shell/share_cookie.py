"""A link that shows one knowledge base: opened, its secret becomes a cookie.

So it stands in no further address. Imports nothing of the dashboard, as the server has it before
its first answer.
"""

from __future__ import annotations

import re
from typing import Any

SHARED = "touchstone_shared"
LEFT = "touchstone_left"
LEAVE, COME_IN = "/share/leave", "/share/come-in"
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
