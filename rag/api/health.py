"""Whether the process lives, and whether it can serve. Nobody needs a token to ask."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse

if TYPE_CHECKING:
    from rag import Workspace  # which would be loaded before the server answers

log = logging.getLogger(__name__)


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
        said = {"status": "unavailable", "reasons": reasons} if reasons else {"status": "ok"}
        return JSONResponse(said, 503 if reasons else 200)

    def _obstacles(self) -> list[str]:
        try:
            return self._workspace().not_ready()
        except Exception:  # whatever it is, this process cannot serve; the message stays inside
            log.exception("The workspace cannot be opened.")
            return ["The workspace cannot be opened. The log has the reason."]
