"""Errors of a server that lacks memory, file handles or room, as problem details.

It imports little: without a file handle, nothing can be imported.
"""

from __future__ import annotations

import errno

from starlette.responses import JSONResponse

RETRY_SECONDS = 5
"""How long to wait before the same request."""

_HANDLES = (
    "The server has no file handle left.",
    "Try again in a moment. If it goes on, raise the limit of open files of the server (ulimit -n, "
    "or LimitNOFILE of its unit).",
)
_MEMORY = (
    "The server has too little memory left.",
    "Try again in a moment. If it goes on, give the server more memory, or lower "
    "TOUCHSTONE_MAX_INDEX_MB.",
)
_DISK = ("The disk is full.", "Free some space, and try again.")


def scarcity(error: BaseException | None) -> tuple[str, str] | None:
    """Return what the server lacks and what to do, if an error comes of that, else None.

    An import that fails for a lack may end in another error.
    """
    if error is None:
        return None
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(scarcity, error.exceptions)), None)
    number, words = getattr(error, "errno", None), str(error)
    if number in (errno.EMFILE, errno.ENFILE) or "Too many open files" in words:
        return _HANDLES
    if isinstance(error, MemoryError) or number == errno.ENOMEM or "start new thread" in words:
        return _MEMORY
    if number in (errno.ENOSPC, errno.EDQUOT):
        return _DISK
    return scarcity(error.__cause__ or error.__context__)


def refusal(lack: tuple[str, str]) -> JSONResponse:
    """Return the answer to a request that fails for a lack."""
    detail, hint = lack
    body = {"type": "about:blank", "title": "Service Unavailable", "status": 503}
    return JSONResponse(
        {**body, "detail": detail, "hint": hint},
        503,
        headers={"Retry-After": str(RETRY_SECONDS)},
        media_type="application/problem+json",
    )
