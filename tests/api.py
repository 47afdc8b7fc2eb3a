"""A client of the API of a workspace, and what its OpenAPI document says."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.testclient import TestClient

from rag import SCOPES, Workspace
from rag.api.mounting import Api


def client(workspace: Workspace, *scopes: str) -> TestClient:
    """A client with a token of these scopes; all of them where none is named."""
    secret, _ = workspace.access.tokens.create("test", scopes or SCOPES)
    app = Starlette(routes=Api(lambda: workspace).routes())
    headers = {"Authorization": f"Bearer {secret}"}
    return TestClient(app, headers=headers, raise_server_exceptions=False)


@contextmanager
def served(workspace: Workspace) -> Iterator[str]:
    """The address of a real server of a workspace."""
    with serving(Starlette(routes=Api(lambda: workspace).routes())) as url:
        yield url


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """The address of a real server of an application."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(method, path below the server, scope) of every address."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            (asked,) = operation["security"]
            (scope,) = asked["bearer"]
            yield method, f"/api{path}", scope


def spoken(
    api: TestClient,
    method: str,
    parameters: Mapping[str, Any] | None = None,
    write: Callable[[Any], str | bytes] = json.dumps,
) -> tuple[int, dict[str, Any]]:
    """Send a request to the MCP endpoint; return the status and the JSON-RPC object."""
    asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters or {}}
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    told = api.post("/mcp", content=write(asked), headers=headers)
    return told.status_code, told.json()
