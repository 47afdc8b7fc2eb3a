"""Connections to the server: their number, their time, and the host names they may use.

Each open connection is a file handle: a process whose handles are used up by silent connections
cannot open its database. uvicorn itself bounds only the time between two requests.

A page of another site can have its own name resolved to this machine after it was loaded (DNS
rebinding). For the browser, that page and the dashboard are then one site. Where nobody signs in,
only the header ``Host`` tells them apart.

Open WebSockets are known by the sign-in that opened them, so that pages learn of its end.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Literal
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn import config
from uvicorn.protocols.http.auto import AutoHTTPProtocol

WHOLE_REQUEST_SECONDS = 30.0
"""How long the head of a request may take."""
MOST_CONNECTIONS = 512
"""How many may be open at once: half of the file handles that a process usually has. Where it has
fewer, a quarter of them: the database, models and indexes need some, too."""

_REFUSED_SECONDS = 2.0  # that a client has to read why

_BODY = b"""{"type": "about:blank", "title": "Service Unavailable", "status": 503, \
"detail": "The server has too many open connections.", \
"hint": "Try again in a moment. If it goes on, raise its limit of open files (ulimit -n)."}"""
_TOO_MANY = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/problem+json\r\n"
    b"Retry-After: 5\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (len(_BODY), _BODY)
)


def bound_connections() -> None:
    """Make every server of this process that is started from now on use ``BoundedProtocol``."""
    config.HTTP_PROTOCOLS["auto"] = f"{__name__}:BoundedProtocol"


def most_connections() -> int:
    """Return how many connections may be open at once in this process."""
    with contextlib.suppress(ImportError):
        import resource  # not on Windows

        handles, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if handles != resource.RLIM_INFINITY:
            return min(MOST_CONNECTIONS, max(handles // 4, 1))
    return MOST_CONNECTIONS


class _Bounded(asyncio.Protocol):
    """A bound on waiting for the head of a request, for the protocols of uvicorn."""

    connections: set[asyncio.Protocol]
    cycle: Any
    loop: asyncio.AbstractEventLoop
    transport: Any
    _timer: asyncio.TimerHandle | None = None
    _state: Literal["accepted", "refusing", "refused"] = "accepted"

    def connection_made(self, transport: Any) -> None:
        """Refuse a connection where there are too many; close it at once where there are twice as
        many."""
        super().connection_made(transport)
        most = most_connections()
        if len(self.connections) > most:
            self._state = "refusing"
        if len(self.connections) > 2 * most:
            transport.close()
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Take in what came; the time for a request ends when it is whole.

        A refusal waits for the request, and for the client to close the connection: closed before,
        it would not see the answer.
        """
        if self._state == "refusing":
            self._state = "refused"
            self.transport.write(_TOO_MANY)
            self.transport.write_eof()
            self.loop.call_later(_REFUSED_SECONDS, self.transport.close)
        if self._state == "refused":
            return
        super().data_received(data)
        self._await_request()

    def _await_request(self) -> None:
        if self._is_busy() and self._timer is not None:
            self._timer.cancel()
            self._timer = None
        elif not self._is_busy() and self._timer is None:
            self._timer = self.loop.call_later(WHOLE_REQUEST_SECONDS, self._give_up)

    def _give_up(self) -> None:
        self._timer = None
        if self in self.connections and not self._is_busy():  # else it became a WebSocket
            self.transport.close()

    def _is_busy(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete


# Which of its protocols uvicorn takes is known when it is imported.
BoundedProtocol = type("BoundedProtocol", (_Bounded, AutoHTTPProtocol), {})

_VARIABLE = "TOUCHSTONE_HOSTS"
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY = "*"


@dataclass(frozen=True)
class Hosts:
    """The accepted host names. With ``addresses``, a browser may also use any IP address: no name
    was resolved then."""

    names: frozenset[str]
    addresses: bool = False

    @classmethod
    def of(cls, listed: Collection[str], listens: str | None, *, signs_in: bool) -> Hosts:
        """Return the hosts of a server that ``listens`` on an address, None for all of them.

        ``listed`` are the names that the administrator gave, in lower case.
        """
        host = listens or ""
        local = host == "localhost" or (_is_address(host) and ip_address(host).is_loopback)
        if signs_in or not (listed or local):
            return cls(frozenset({_ANY}))
        return cls(_LOCAL.union(listed), addresses=not local)

    def accept(self, scope: Scope) -> bool:
        """Whether a request or a WebSocket is for this server."""
        try:
            name = urlsplit(f"//{_host(scope)}").hostname or ""
        except ValueError:
            name = ""
        return _ANY in self.names or name in self.names or (self.addresses and _is_address(name))


def misdirected(scope: Scope) -> Response:
    """Return the answer to a request for another host: status 421."""
    detail = f"This server does not answer requests for the host {_host(scope)!r}."
    hint = f"If people reach it by that name, add the name to the variable {_VARIABLE}."
    if "text/html" in Headers(scope=scope).get("accept", ""):
        return PlainTextResponse(f"{detail} {hint}", 421)
    from rag.api import problems  # with FastAPI, which the first page does not wait for

    return problems.answer(scope["path"], problems.problem(421, detail, hint))


def _host(scope: Scope) -> str:
    return Headers(scope=scope).get("host", "")


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


class Sockets:
    """The WebSockets of a process; used by its event loop alone."""

    def __init__(self, notice: bytes) -> None:
        """``notice`` is what the application receives when a sign-in ended."""
        self._notice: Message = {"type": "websocket.receive", "bytes": notice}
        self._open: defaultdict[str, set[asyncio.Event]] = defaultdict(set)

    def keys(self) -> list[str]:
        """Return the sign-ins that have a socket."""
        return list(self._open)

    def notify(self, keys: Collection[str]) -> None:
        """Let the application know that sign-ins have ended, once for each of their sockets."""
        for key in keys:
            for ended in self._open.pop(key, ()):
                ended.set()

    async def run(self, key: str, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let an application serve a socket."""
        ended = asyncio.Event()
        ending: asyncio.Future[Any] = asyncio.ensure_future(ended.wait())
        receiving: asyncio.Future[Any] = asyncio.ensure_future(receive())

        async def received() -> Message:
            nonlocal receiving
            if not ended.is_set():
                await asyncio.wait({receiving, ending}, return_when=asyncio.FIRST_COMPLETED)
                if ended.is_set():
                    return self._notice
            message: Message = await receiving
            receiving = asyncio.ensure_future(receive())
            return message

        self._open[key].add(ended)
        try:
            await app(scope, received, send)
        finally:
            ending.cancel()
            receiving.cancel()
            self._open[key].discard(ended)
            if not self._open[key]:
                del self._open[key]
