"""Open WebSockets by the sign-in that opened them, so that pages learn of its end."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


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
