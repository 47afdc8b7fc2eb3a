"""Who is let in: a valid bearer token, not too often, with the scope that an address needs."""

from __future__ import annotations

import math

from anyio import CapacityLimiter, to_thread
from fastapi import HTTPException, Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag import TokenRow, TouchstoneError, Workspace
from rag.api import problems
from rag.api.rates import Rates

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="Touchstone"'}
_NOBODY = problems.problem(
    401,
    "There is no valid token in the Authorization header.",
    "Send `Authorization: Bearer TOKEN`; tokens are made in Settings.",
)
_TOO_OFTEN = problems.problem(429, "This token asks too often.", "Ask again later.")
_TOO_LARGE = problems.problem(413, "The body is too large.")
_THREADS = 4


class Admission:
    """Asks every request for its token, before anything of its body is read."""

    def __init__(self, app: ASGIApp, workspace: Workspace, rates: Rates) -> None:
        self._app = app
        self._tokens = workspace.access.tokens
        self._rates = rates
        self._limit = CapacityLimiter(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            holder = await self._holder(Headers(scope=scope).get("authorization", ""))
        except TouchstoneError as error:
            await problems.answer(scope["path"], problems.of(error))(scope, receive, send)
            return
        if holder is None:
            await problems.answer(scope["path"], _NOBODY, _CHALLENGE)(scope, receive, send)
            return
        seconds = self._rates.wait(holder.id)
        if seconds:
            wait = {"Retry-After": str(math.ceil(seconds))}
            await problems.answer(scope["path"], _TOO_OFTEN, wait)(scope, receive, send)
            return
        scope.setdefault("state", {})["holder"] = holder
        await self._app(scope, receive, _told(scope, receive, send))

    async def _holder(self, header: str) -> TokenRow | None:
        scheme, _, secret = header.partition(" ")
        if scheme.lower() != "bearer" or not secret.strip():
            return None
        return await to_thread.run_sync(self._tokens.holder, secret.strip(), limiter=self._limit)


def _told(scope: Scope, receive: Receive, send: Send) -> Send:
    """Sends on, but a body that is announced as too large is refused in the words of all others."""
    refused = False

    async def sent(message: Message) -> None:
        nonlocal refused
        if message["type"] == "http.response.start" and message["status"] == 413:
            refused = Headers(raw=message["headers"]).get("content-type") != problems.MEDIA_TYPE
            if refused:
                await problems.answer(scope["path"], _TOO_LARGE)(scope, receive, send)
        if not refused:
            await send(message)

    return sent


def holder(request: Request) -> TokenRow:
    """Whose request it is."""
    found: TokenRow = request.state.holder
    return found


def require(request: Request, scope: str) -> None:
    """Raises where the token of a request lacks a scope."""
    if scope not in holder(request).scopes:
        raise HTTPException(403, f"This token lacks the scope {scope!r}.")
