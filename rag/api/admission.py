"""Admission of requests: a valid bearer token, rate limits, and the scope of the address."""

from __future__ import annotations

import logging
import re
import uuid
from time import perf_counter

from anyio import CapacityLimiter, move_on_after, to_thread
from fastapi import Request, Response
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag import (
    NOBODY_SIGNS_IN,
    REQUEST_ID,
    NotAllowed,
    Person,
    Principal,
    TokenRow,
    TouchstoneError,
    Workspace,
    note_work,
    spanning,
)
from rag.api import problems
from rag.api.reference import is_public

log = logging.getLogger(__name__)

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="Touchstone"'}
_NOBODY = problems.problem(
    401,
    "There is no valid token in the Authorization header.",
    "Send `Authorization: Bearer TOKEN`. Create a token in Settings or with `token create`.",
)
# In the words of RFC 6750, section 3.1, which clients act on.
_CHALLENGE_ANEW = {"WWW-Authenticate": f'{_CHALLENGE["WWW-Authenticate"]}, error="invalid_token"'}
_ENDED = problems.problem(
    401,
    "This token has expired or was revoked.",
    "Create another one in Settings or with `token create`.",
)
_TOO_OFTEN = problems.problem(429, "This token sends too many requests.", "Try again later.")
_TOO_MANY = problems.problem(
    429,
    "This token has too many requests in progress.",
    "Wait for their responses, then try again.",
)
_TOO_LARGE = problems.problem(413, "The body is too large.")
_MOST_DRAINED, _MOST_SECONDS_DRAINED = 256 << 20, 10.0  # of a body that is too large
_ACCEPTED_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_THREADS = 4
# Anybody can send a method of any name, and each would be a figure of its own for ever.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Admission:
    """Middleware that asks every request for its token, before anything of its body is read."""

    def __init__(self, app: ASGIApp, workspace: Workspace) -> None:
        self._app = app
        self._tokens = workspace.access.tokens
        self._rates = workspace.access.token_rates
        self._in_flight = workspace.access.token_requests
        self._limit = CapacityLimiter(_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        # A request has a task of its own, and so a context that ends with it.
        sent = Headers(scope=scope).get("x-request-id", "")
        REQUEST_ID.set(sent if _ACCEPTED_ID.fullmatch(sent) else uuid.uuid4().hex)
        caller = Headers(scope=scope).get("traceparent", "")
        with spanning("request", {"method": scope["method"]}, caller) as span:
            span.labels |= await self._timed(scope, receive, send)

    async def _timed(self, scope: Scope, receive: Receive, send: Send) -> dict[str, str]:
        """Answer a request, and return what is reported of it."""
        started, status = perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-ID"] = REQUEST_ID.get()
            await send(message)

        try:
            await self._admit(scope, receive, noted)
        finally:
            # The address as it is declared: that of a request names what somebody works on.
            route = getattr(scope.get("route"), "path", "unknown")
            seconds = perf_counter() - started
            method = scope["method"] if scope["method"] in _METHODS else "other"
            labels = {"method": method, "route": route, "status": str(status)}
            note_work("request", seconds, **labels)
        return labels

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        if is_public(scope["path"].removeprefix(scope.get("root_path", ""))):
            await self._app(scope, receive, send)
            return
        scheme, _, secret = Headers(scope=scope).get("authorization", "").partition(" ")
        secret = secret.strip() if scheme.lower() == "bearer" else ""
        try:
            holder, ended = await to_thread.run_sync(self._holder, secret, limiter=self._limit)
        except TouchstoneError as error:
            await problems.refusal(scope["path"], error)(scope, receive, send)
            return
        if holder is None:
            why = "has ended" if ended else "is unknown" if secret else "is missing"
            log.warning("A request was refused: its token %s.", why)
            problem_body = (_ENDED, _CHALLENGE_ANEW) if ended else (_NOBODY, _CHALLENGE)
            await problems.answer(scope["path"], *problem_body)(scope, receive, send)
            return
        seconds = self._rates.wait(holder.id)
        if seconds:
            wait = problems.retry_after(seconds)
            await problems.answer(scope["path"], _TOO_OFTEN, wait)(scope, receive, send)
            return
        scope.setdefault("state", {})["holder"] = holder
        with self._in_flight.one(holder.id) as allowed:
            app = self._app if allowed else busy(scope["path"])
            await app(scope, receive, _with_problem_bodies(scope, receive, send))

    def _holder(self, secret: str) -> tuple[TokenRow | None, bool]:
        """Return the token of a secret, and whether the token is expired or revoked."""
        if not secret:
            return None, False
        row = self._tokens.holder(secret)
        return row, row is None and self._tokens.ended(secret)


def busy(path: str) -> Response:
    """The answer to a token that has too many requests under way."""
    return problems.answer(path, _TOO_MANY, {"Retry-After": "1"})


def _with_problem_bodies(scope: Scope, receive: Receive, send: Send) -> Send:
    """Send on, but a body that is announced as too large is refused in the words of all others."""
    refused = False

    async def sent(message: Message) -> None:
        nonlocal refused
        if message["type"] == "http.response.start" and message["status"] == 413:
            refused = Headers(raw=message["headers"]).get("content-type") != problems.MEDIA_TYPE
            if refused:
                await _drain(receive)
                await problems.answer(scope["path"], _TOO_LARGE)(scope, receive, send)
        if not refused:
            await send(message)

    return sent


async def _drain(receive: Receive) -> None:
    """Read the rest of a body, within bounds: a client that still sends would not see the answer,
    but an end of the connection."""
    size = 0
    with move_on_after(_MOST_SECONDS_DRAINED):
        while size < _MOST_DRAINED:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body"):
                return


def holder(request: Request) -> TokenRow:
    """Return the token of a request."""
    row: TokenRow = request.state.holder
    return row


def principal_of(token: TokenRow, via: str) -> Principal:
    """Return the principal of a token."""
    person = Person(token.owner, "") if token.owner else NOBODY_SIGNS_IN
    return Principal(person, via, token.id, token=token)


def require(request: Request, scope: str) -> None:
    """Raise where the token of a request lacks a scope."""
    if scope not in holder(request).scopes:
        raise NotAllowed(
            f"This token lacks the scope {scope!r}.",
            "Create a token that has it, in Settings or with `token create`.",
        )
