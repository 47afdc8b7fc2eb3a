"""A client of the API of a workspace, and what its OpenAPI document says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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


def operations(document: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """(method, path below the server, scope) of every address."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            (asked,) = operation["security"]
            (scope,) = asked["bearer"]
            yield method, f"/api{path}", scope
