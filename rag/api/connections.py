"""Connections that send nothing, or no whole request, are closed; and there are never too many.

Each open connection is a file handle: a process whose handles are used up by silent connections
cannot open its database. uvicorn itself bounds only the time between two requests.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn import config
from uvicorn.protocols.http.auto import AutoHTTPProtocol

WHOLE_REQUEST_SECONDS = 30.0
"""How long the head of a request may take."""
MOST_CONNECTIONS = 512
"""How many may be open at once: half of the file handles that a process usually has."""


def bound_connections() -> None:
    """Make every server of this process that is started from now on use ``BoundedProtocol``."""
    config.HTTP_PROTOCOLS["auto"] = f"{__name__}:BoundedProtocol"


class _Bounded(asyncio.Protocol):
    """A bound on waiting for the head of a request, for the protocols of uvicorn."""

    connections: set[asyncio.Protocol]
    cycle: Any
    loop: asyncio.AbstractEventLoop
    transport: Any
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Close a connection at once where there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Take in what came; the time for a request ends when it is whole."""
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
