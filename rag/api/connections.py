"""Connections that send nothing, or no whole request, are closed; and there are never too many.

Each open connection is a file handle: a process whose handles are used up by silent connections
cannot open its database. uvicorn itself bounds only the time between two requests.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Literal

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
