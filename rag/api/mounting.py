"""The routes that the server of the dashboard takes in."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rag import TouchstoneError

if TYPE_CHECKING:
    from rag import Workspace

Open = Callable[[], "Workspace"]
"""Gives the one workspace of the process."""

log = logging.getLogger(__name__)


class Api:
    """REST, MCP and health of one workspace, which is opened when it is first asked for."""

    def __init__(self, workspace: Open, *, figures: bool = False) -> None:
        """``figures`` are shown at ``/prometheus``, to everybody who reaches the server."""
        self._workspace = workspace
        self._figures = figures

    def routes(self) -> list[BaseRoute]:
        """Return the routes to mount at the root of a server."""
        health = Health(self._workspace)
        rest = Mount("/api", app=_Lazy(self._rest))
        # Addresses with a line break too: problem details say what is wrong with them.
        rest.path_regex = re.compile(rest.path_regex.pattern, re.DOTALL)
        return [
            Route("/healthz", health.alive),
            Route("/readyz", health.ready),
            *self._watched(),
            rest,
            Route("/mcp", _Lazy(self._mcp)),
        ]

    def _watched(self) -> list[BaseRoute]:
        if not self._figures:  # else it would be a page of the dashboard
            return [Route("/prometheus", _no_figures)]
        from rag.api.figures import Figures

        return [Route("/prometheus", Figures(self._workspace).answer)]

    def _rest(self) -> ASGIApp:
        from rag.api.application import application

        return application(self._workspace())

    def _mcp(self) -> ASGIApp:
        from rag.api.mcp_server import over_http

        return over_http(self._workspace())


async def _no_figures(_: Request) -> PlainTextResponse:
    return PlainTextResponse("Not found. TOUCHSTONE_METRICS=1 turns metrics on.", 404)


class _Lazy:
    """An application that is made, in a thread, when the first request comes."""

    def __init__(self, make: Callable[[], ASGIApp]) -> None:
        self._make = make
        self._made: ASGIApp | None = None
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and end the connection.

        The server ends one that was idle for five seconds, and a program that sends its next
        request at that very moment would get an error: what it sent may have been done.
        """

        async def last(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Connection"] = "close"
            await send(message)

        if self._made is None:
            async with self._turn:
                if self._made is None:
                    try:
                        self._made = await to_thread.run_sync(self._make)
                    except TouchstoneError as error:
                        from rag.api.problems import refusal

                        await refusal(scope["path"], error)(scope, receive, last)
                        return
        await self._made(scope, receive, last)


class Health:
    """Answers those who watch over a server."""

    def __init__(self, workspace: Callable[[], Workspace]) -> None:
        self._workspace = workspace

    async def alive(self, _: Request) -> JSONResponse:
        """200 as long as the process answers at all."""
        return JSONResponse({"status": "ok"})

    async def ready(self, _: Request) -> JSONResponse:
        """200 where requests can be served; else 503 with the reasons."""
        reasons = await to_thread.run_sync(self._obstacles)
        body = {"status": "unavailable", "reasons": reasons} if reasons else {"status": "ok"}
        return JSONResponse(body, 503 if reasons else 200)

    def _obstacles(self) -> list[str]:
        try:
            return self._workspace().not_ready()
        except Exception:  # whatever it is, this process cannot serve; the message stays inside
            log.exception("The workspace cannot be opened.")
            return ["The workspace cannot be opened. The log has the reason."]
