"""Connections that send nothing, and those that come from the page of another server."""

from __future__ import annotations

import logging
import re
import socket
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect
from streamlit import config

import app as server
from rag import write_log_lines
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
def test_a_connection_without_a_whole_request_is_closed(tmp_path, monkeypatch, sent):
    connections.bound_connections()
    monkeypatch.setattr(connections, "WHOLE_REQUEST_SECONDS", 0.2)
    with served(workspace_at(tmp_path)) as address, _opened(address) as silent:
        silent.sendall(sent)
        received = b""
        while part := silent.recv(4096):
            received += part
        assert received.count(b"200 OK") == sent.count(b"\r\n\r\n")
        assert httpx.get(f"{address}/healthz").json() == {"status": "ok"}


def test_there_are_never_more_connections_than_file_handles_allow(tmp_path, monkeypatch):
    connections.bound_connections()
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    with served(workspace_at(tmp_path)) as address:
        first, second = _opened(address), _opened(address)
        refused = httpx.post(f"{address}/mcp", content=b"x" * 200_000)
        assert refused.status_code == 503
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["hint"]
        with _opened(address), _opened(address), _opened(address) as one_too_many:
            assert one_too_many.recv(1) == b""
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
        ("http://[", False),
    ],
)
def test_a_page_of_another_server_opens_no_session(origin, opens):
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


@pytest.mark.parametrize(
    ("address", "hosts", "host", "answers"),
    [
        ("127.0.0.1", "", "127.0.0.1:8501", True),
        ("127.0.0.1", "", "[::1]:8501", True),
        ("127.0.0.1", "", "LOCALHOST", True),
        ("127.0.0.1", "", "evil.example:8501", False),
        ("127.0.0.1", "", "localhost.evil.example", False),
        ("127.0.0.1", "", "evil.example#@localhost", False),
        ("127.0.0.1", "", "10.0.0.7:8501", False),
        ("127.0.0.1", "", "[", False),
        ("127.0.0.1", "", "", False),
        ("127.0.0.1", "KB.example, other.example", "kb.example", True),
        ("127.0.0.1", "kb.example", "evil.example", False),
        ("127.0.0.1", "*", "evil.example", True),
        ("0.0.0.0", "", "kb.example", True),
        ("0.0.0.0", "localhost", "evil.example", False),
        ("0.0.0.0", "localhost", "10.0.0.7:8501", True),
        (None, "localhost", "localhost:8501", True),
    ],
)
def test_only_the_hosts_of_the_server_are_answered(monkeypatch, address, hosts, host, answers):
    monkeypatch.setenv("TOUCHSTONE_HOSTS", hosts)
    others = config.get_option
    monkeypatch.setattr(
        config, "get_option", lambda name: address if name == "server.address" else others(name)
    )
    guarded = TestClient(server.Guard(PlainTextResponse("here")))
    answer = guarded.get("/", headers={"Host": host, "Accept": "text/html"})
    assert answer.status_code == (200 if answers else 421)
    assert ("TOUCHSTONE_HOSTS" in answer.text) != answers
    assert "Content-Security-Policy" in answer.headers


def test_a_sign_in_takes_the_place_of_the_list_of_hosts(monkeypatch):
    """A page of another name has no cookie of a sign-in, but the local user needs none."""
    monkeypatch.setattr(server, "get_secrets_auth_section", lambda: {"client_id": "kb"})
    for sign_in, status in (("1", 200), ("0", 421)):
        monkeypatch.setenv("TOUCHSTONE_SIGN_IN", sign_in)
        guarded = TestClient(server.Guard(PlainTextResponse("here")))
        assert guarded.get("/", headers={"Host": "kb.example"}).status_code == status


def test_a_refused_session_is_a_line_of_the_log_once(caplog):
    client = TestClient(server.Guard(PlainTextResponse("here")))
    headers = {"Host": "localhost", "Origin": "https://localhost:8443"}
    for _ in range(3):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/", headers=headers):
            pass
    (line,) = [line for line in caplog.messages if "refused" in line]
    assert "localhost:8443" in line


def test_a_path_prefix_is_refused_at_the_start(monkeypatch):
    others = config.get_option
    server.refuse_prefix()
    monkeypatch.setattr(
        config, "get_option", lambda name: "kb" if name == "server.baseUrlPath" else others(name)
    )
    with pytest.raises(SystemExit, match="baseUrlPath"):
        server.refuse_prefix()


def test_without_its_setting_there_are_no_metrics(tmp_path):
    with served(workspace_at(tmp_path)) as address:
        assert httpx.get(f"{address}/prometheus").status_code == 404


def test_lines_of_the_log_have_a_time_and_a_level(capsys):
    names = ("rag", "pages", server.__name__)
    try:
        write_log_lines(*names)
        write_log_lines(*names)
        logging.getLogger("rag.services.jobs.runner").error("Job 7 failed.")
        (line,) = capsys.readouterr().err.splitlines()
    finally:
        for logger in map(logging.getLogger, names):
            logger.handlers.clear()
            logger.setLevel(logging.NOTSET)
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d [\d:,]+ ERROR rag\.services\.jobs\.runner: Job 7 failed\.", line
    )
