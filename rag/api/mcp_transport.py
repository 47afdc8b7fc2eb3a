"""Transports of the MCP tools: streamable HTTP with the same admission as the API, or stdio."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from rag import InvalidInput, Principal, TokenRow, Workspace
from rag.api import problems
from rag.api.admission import Admission, principal_of
from rag.api.mcp_server import server

PATH = "/mcp"
_POST_ALONE = problems.problem(405, "Use POST: this MCP server sends no messages of its own.")


def over_http(workspace: Workspace) -> ASGIApp:
    """Return the ASGI application for ``/mcp``."""
    return Admission(_Http(workspace), workspace)


def over_stdio(workspace: Workspace, scopes: tuple[str, ...] = ("read", "ask")) -> None:
    """Serve the client at the other end of standard input, until that closes.

    Without a token, the client may do what ``scopes`` allow: who starts the server beside the home
    could open it anyway. Raises InvalidInput where ``TOUCHSTONE_API_TOKEN`` is no valid token.
    """
    secret = workspace.settings.api_token

    def authenticate(_: object = None) -> tuple[Principal, tuple[str, ...]]:
        if secret is None:
            return Principal(via="mcp"), scopes
        row = workspace.access.tokens.holder(secret)  # each time: a token ends, a client stays
        if row is None:
            raise InvalidInput(
                "TOUCHSTONE_API_TOKEN is not a valid token.", "Create one with `token create`."
            )
        return principal_of(row, "mcp"), row.scopes

    authenticate()
    server(workspace, authenticate).run("stdio")


class _Http:
    """The server of MCP, begun with its first request: each request stands alone."""

    def __init__(self, workspace: Workspace) -> None:
        # A token is needed whatever the host is called, so a page of another site gets nowhere.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._apps, self._sessions = dict[bool, ASGIApp](), list[Any]()
        for streams in (False, True):
            made = server(workspace, _authenticate_request)
            self._apps[streams] = made.streamable_http_app(
                streamable_http_path=PATH,
                stateless_http=True,
                json_response=not streams,
                transport_security=security,
            )
            self._sessions.append(made.session_manager)
        self._running: asyncio.Task[None] | None = None
        self._begun = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["method"] != "POST":  # nothing is told unasked: no stream stays open for it
            await problems.answer(PATH, _POST_ALONE, {"Allow": "POST"})(scope, receive, send)
            return
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await self._begun.wait()
        # Progress needs a stream; a client that takes JSON alone gets the result alone.
        streams = "text/event-stream" in Headers(scope=scope).get("accept", "")
        await self._apps[streams](scope, receive, send)

    async def _run(self) -> None:
        async with self._sessions[0].run(), self._sessions[1].run():
            self._begun.set()
            await asyncio.Event().wait()  # until the server ends


def _authenticate_request(context: Context[Any, Any]) -> tuple[Principal, tuple[str, ...]]:
    request: Any = context.request_context.request
    holder: TokenRow = request.state.holder
    return principal_of(holder, "mcp"), holder.scopes
