"""Connections that send nothing, and those that come from the page of another server."""

from __future__ import annotations

import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

import app as server
from rag.api import connections
from tests.api import served
from tests.workspaces import workspace_at


def _opened(address: str) -> socket.socket:
    parts = urlsplit(address)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET /healthz HT", b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\nGET /he"],
    ids=["silent", "slow", "slow the second time"],
)
def test_a_connection_without_a_whole_request_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    connections.bound_connections()
    monkeypatch.setattr(connections, "WHOLE_REQUEST_SECONDS", 0.2)
    with served(workspace_at(tmp_path)) as address, _opened(address) as silent:
        silent.sendall(sent)
        received = b""
        while part := silent.recv(4096):
            received += part
        assert received.count(b"200 OK") == sent.count(b"\r\n\r\n")
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}


def test_there_are_never_more_connections_than_file_handles_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections.bound_connections()
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    with served(workspace_at(tmp_path)) as address:
        first, second = _opened(address), _opened(address)
        with _opened(address) as third:
            assert third.recv(1) == b""
        first.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert first.recv(15) == b"HTTP/1.1 200 OK"
        first.close()
        second.close()


@pytest.mark.parametrize(
    ("origin", "opens"),
    [
        (None, True),
        ("http://localhost:8501", True),
        ("http://localhost:9999", False),
        ("http://127.0.0.1:8501", False),
        ("null", False),
    ],
)
def test_a_page_of_another_server_opens_no_session(origin: str | None, opens: bool) -> None:
    async def session(scope: object, receive: object, send: object) -> None:
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        await socket.close()

    client = TestClient(server.Guard(session))
    headers = {"Host": "localhost:8501"} | ({"Origin": origin} if origin else {})
    if opens:
        with client.websocket_connect("/_stcore/stream", headers=headers):
            return
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/", headers=headers):
        pass
