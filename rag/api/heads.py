"""HEAD: the answer of GET without its body."""

from __future__ import annotations

from anyio import CancelScope
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Heads:
    """Middleware that answers HEAD wherever GET is answered; a stream ends where it begins."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        sent = False
        with CancelScope() as answering:

            async def without_body(message: Message) -> None:
                nonlocal sent
                if message["type"] == "http.response.body":
                    if sent:
                        return
                    sent = True
                    if message.get("more_body"):
                        answering.cancel()
                    message = {"type": "http.response.body", "body": b""}
                    with CancelScope(shield=True):
                        await send(message)
                    return
                await send(message)

            await self._app({**scope, "method": "GET"}, receive, without_body)
