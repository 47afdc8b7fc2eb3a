"""Transports of the MCP tools: streamable HTTP with the same admission as the API, or stdio."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from rag import InvalidInput, Principal, TokenRow, Workspace
from rag.api import problems
from rag.api.admission import Admission, principal_of
from rag.api.mcp_server import server

PATH = "/mcp"
_LOCAL: tuple[str, ...] = (
    "read",
    "ask",
)  # of who starts the server beside the home, and could open it anyway

_POST_ALONE = problems.problem(405, "Use POST: this MCP server sends no messages of its own.")


def over_http(workspace: Workspace) -> ASGIApp:
    """Return the ASGI application for ``/mcp``."""
    return Admission(_Http(workspace), workspace)


def over_stdio(workspace: Workspace) -> None:
    """Serve the client at the other end of standard input, until that closes.

    Raises InvalidInput where ``TOUCHSTONE_API_TOKEN`` is no valid token.
    """
    secret = workspace.settings.api_token

    def authenticate(_: object = None) -> tuple[Principal, tuple[str, ...]]:
        if secret is None:
            return Principal(via="mcp"), _LOCAL
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
        made = server(workspace, _authenticate_request)
        # A token is needed whatever the host is called, so a page of another site gets nowhere.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        self._app = made.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,
            transport_security=security,
        )
        self._sessions = made.session_manager
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
        await self._app(scope, receive, send)

    async def _run(self) -> None:
        async with self._sessions.run():
            self._begun.set()
            await asyncio.Event().wait()  # until the server ends


def _authenticate_request(context: Context[Any, Any]) -> tuple[Principal, tuple[str, ...]]:
    request: Any = context.request_context.request
    holder: TokenRow = request.state.holder
    return principal_of(holder, "mcp"), holder.scopes
