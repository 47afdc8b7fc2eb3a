"""The reference of the REST API: its OpenAPI document, and a page that shows it without a network.

Neither needs a token, because they contain nothing of the data.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

PUBLIC = ("/v1/openapi.json", "/v1/docs")
"""The addresses, below that of the API, that need no token."""

# A file and not a script of the page: the Content Security Policy allows no inline scripts.
_START = """
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  validatorUrl: null,
});
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Touchstone API</title>
  <link rel="stylesheet" href="docs/assets/swagger-ui.css">
  <link rel="icon" href="data:,">
</head>
<body>
  <main id="reference"></main>
  <script src="docs/assets/swagger-ui-bundle.js"></script>
  <script src="docs/start.js"></script>
</body>
</html>
"""


def reference(describe: Callable[[], dict[str, Any]]) -> list[Mount | Route]:
    """Return the routes of an OpenAPI document and of the page that shows it.

    ``describe`` makes the document. It takes as long as hundreds of requests, so it runs once, in
    a thread, when the document is first asked for.
    """
    described = cache(describe)

    def openapi(_: Request) -> Response:
        return JSONResponse(described())

    async def page(_: Request) -> Response:
        return HTMLResponse(_PAGE)

    async def start(_: Request) -> Response:
        return Response(_START, media_type="text/javascript")

    return [
        Route("/v1/openapi.json", openapi),
        Route("/v1/docs", page),
        Route("/v1/docs/start.js", start),
        Mount("/v1/docs/assets", StaticFiles(directory=_assets())),
    ]


def is_public(path: str) -> bool:
    """Whether an address below that of the API needs no token."""
    return path in PUBLIC or path.startswith("/v1/docs/")


def _assets() -> Path:
    """The folder of the scripts and styles of Swagger UI, which a package brings along."""
    package = find_spec("fastapi_offline")
    if package is None or package.origin is None:
        raise RuntimeError("fastapi_offline is not installed: pip install -r requirements.txt")
    return Path(package.origin).parent / "static"
