"""How the tools of MCP are reached: streamable HTTP below the same admission, or stdio."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from rag import InvalidInput, Workspace
from rag.api.admission import Admission
from rag.api.mcp_server import server
from rag.api.rates import Rates

PATH = "/mcp"
_LOCAL: tuple[str, ...] = (
    "read",
    "ask",
)  # of who starts the server beside the home, and could open it anyway


def over_http(workspace: Workspace) -> ASGIApp:
    """What answers at ``/mcp``."""
    return Admission(_Http(workspace), workspace, Rates(workspace.settings.api_rate))


def over_stdio(workspace: Workspace) -> None:
    """Serves whoever is at the other end of standard input, until that closes.

    Raises InvalidInput where ``TOUCHSTONE_API_TOKEN`` is no valid token.
    """
    secret, scopes = workspace.settings.api_token, _LOCAL
    if secret is not None:
        found = workspace.access.tokens.holder(secret)
        if found is None:
            raise InvalidInput(
                "TOUCHSTONE_API_TOKEN is no valid token.", "Make one by `token create`."
            )
        scopes = found.scopes
    server(workspace, lambda _: scopes).run("stdio")


class _Http:
    """The server of MCP, begun with its first request: each request stands alone."""

    def __init__(self, workspace: Workspace) -> None:
        made = server(workspace, _scopes_of_request)
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
        """Answers a request."""
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        await self._begun.wait()
        await self._app(scope, receive, send)

    async def _run(self) -> None:
        async with self._sessions.run():
            self._begun.set()
            await asyncio.Event().wait()  # until the server ends


def _scopes_of_request(context: Context[Any, Any]) -> tuple[str, ...]:
    request: Any = context.request_context.request
    scopes: tuple[str, ...] = request.state.holder.scopes
    return scopes
