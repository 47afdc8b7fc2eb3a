"""MCP servers as systems under test: their forms of answers, and servers that misbehave."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from rag import BlockedAddress, HttpSystem, ProviderUnavailable, system_of
from rag.errors import ProviderMisbehaved, ProviderRejected
from rag.experiments.systems import mcp_endpoints
from rag.experiments.systems.formats.tables import ReturnedText
from rag.experiments.systems.mcp_endpoints import ask_mcp
from tests.servers import Handler, http_server

INITIALIZED = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x"}}


def structured(value: Any) -> dict[str, Any]:
    return {"content": [], "structuredContent": value}


def in_text(value: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": json.dumps(value)}]}


def as_json(message: Mapping[str, Any]) -> tuple[str, bytes]:
    return "application/json", json.dumps(message).encode()


def as_events(message: Mapping[str, Any]) -> tuple[str, bytes]:
    """The response among other events of a stream."""
    progress = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress"})
    return (
        "text/event-stream; charset=utf-8",
        f": hello\r\nevent: message\r\ndata: {progress}\r\n\r\n"
        f"data: {json.dumps(message)}\n\n".encode(),
    )


@dataclass
class Server:
    """The results of tools by name, or functions of their arguments; and what was sent."""

    tools: dict[str, Any]
    write: Callable[[Mapping[str, Any]], tuple[str, bytes]] = as_json
    url: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        method, head = message["method"], {"jsonrpc": "2.0", "id": message["id"]}
        if method == "initialize":
            return head | {"result": self.tools.get("initialize", INITIALIZED)}
        name, arguments = message["params"]["name"], message["params"]["arguments"]
        self.calls.append((name, arguments))
        result = self.tools.get(name)
        if result is None:
            return head | {"error": {"code": -32602, "message": f"Unknown tool: {name}"}}
        return head | {"result": result(arguments) if callable(result) else result}


@contextmanager
def running(tools: Mapping[str, Any], write: Any = as_json) -> Iterator[Server]:
    server = Server(dict(tools), write)

    class Tools(Handler):
        def respond(self) -> None:
            message = json.loads(self.body())
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            if "id" not in message:
                self.answer(status=202)
                return
            kind, body = server.write(server.answer(message))
            self.answer(body, **{"Content-Type": kind, "Mcp-Session-Id": "s-1"})

    with http_server(Tools) as address:
        server.url = f"{address}/mcp"
        yield server


def asked(server: Server, **fields: Any) -> tuple[ReturnedText, ...]:
    system = system_of("mcp", "rival", server.url, "", 5)
    system = HttpSystem.parse({**system.model_dump(), **fields})
    return ask_mcp(system, "How long?", {}, allow_private=True).texts


def fetched(arguments: Mapping[str, str]) -> dict[str, Any]:
    return structured({"id": arguments["id"], "text": f"Text of {arguments['id']}."})


@pytest.mark.parametrize("write", [as_json, as_events])
@pytest.mark.parametrize("shape", [structured, in_text])
def test_a_text_is_fetched_where_the_search_has_none(write, shape):
    hits = [{"id": "a", "title": "A"}, {"id": "b", "title": "B", "text": "Here."}, {"title": "C"}]
    with running({"search": shape({"results": hits}), "fetch": fetched}, write) as server:
        texts = asked(server)
    assert texts == (
        ReturnedText("Text of a.", id="a", title="A"),
        ReturnedText("Here.", id="b", title="B"),
        ReturnedText("", title="C"),
    )
    assert server.calls == [("search", {"query": "How long?"}), ("fetch", {"id": "a"})]
    assert [headers.get("mcp-session-id") for headers in server.headers] == [None, *["s-1"] * 3]
    assert server.headers[-1]["mcp-protocol-version"] == "2025-06-18"


@pytest.mark.parametrize(
    ("tools", "kind", "message"),
    [
        ({"initialize": {}}, ProviderMisbehaved, "names no protocol version"),
        ({}, ProviderRejected, "answers tools/call with an error: Unknown tool: search"),
        (
            {"search": {"isError": True, "content": [{"type": "text", "text": "No such base."}]}},
            ProviderRejected,
            "The tool search of the system rival answers with an error: No such base.",
        ),
        ({"search": {"content": [{"text": "{oops"}]}}, ProviderMisbehaved, "not answer with JSON"),
        ({"search": {"content": 7}}, ProviderMisbehaved, "did not answer with JSON"),
        ({"search": structured({"hits": []})}, ProviderMisbehaved, "It has: hits."),
        (
            {"search": structured({"results": [{"id": "a"}]})},
            ProviderRejected,
            "Unknown tool: fetch",
        ),
    ],
)
def test_a_server_that_misbehaves_is_described(tools, kind, message):
    with running(tools) as server, pytest.raises(kind) as caught:
        asked(server)
    assert message in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (("application/json", b"{oops"), "did not answer with JSON"),
        (("application/json", b"[" * 100_000), "did not answer with JSON"),
        (("application/json", b"[]"), "did not answer initialize"),
        (("application/json", b'{"id": 99, "result": {}}'), "did not answer initialize"),
        (("text/event-stream", b"data: {}\n\n"), "did not answer initialize"),
        (("text/event-stream", b"data: {oops\n\n"), "did not answer with JSON"),
        (("text/html", b"<html>"), "returned text/html instead of JSON"),
    ],
)
def test_what_is_no_response_is_described(body, message):
    with running({}, lambda _: body) as server, pytest.raises(ProviderMisbehaved, match=message):
        asked(server)


@pytest.mark.parametrize("write", [as_json, as_events])
def test_huge_answers_are_refused(write, monkeypatch):
    monkeypatch.setattr(mcp_endpoints, "MOST_BYTES", 20_000)
    huge = structured({"results": [{"id": "a", "text": "x" * 30_000}]})
    with running({"search": huge}, write) as server, pytest.raises(ProviderMisbehaved) as caught:
        asked(server)
    assert "is larger than" in caught.value.message
    hits = [{"id": str(number)} for number in range(5)]
    long = structured({"id": "a", "text": "x" * 6_000})
    tools = {"search": structured({"results": hits}), "fetch": long}
    with running(tools, write) as server, pytest.raises(ProviderMisbehaved, match="is larger"):
        asked(server)
    assert len(server.calls) == 5


def test_all_calls_share_the_time_of_a_question():
    def slow(arguments: Mapping[str, str]) -> dict[str, Any]:
        time.sleep(0.2)
        return fetched(arguments)

    hits = [{"id": str(number)} for number in range(5)]
    tools = {"search": structured({"results": hits}), "fetch": slow}
    late = pytest.raises(ProviderUnavailable, match=r"did not answer within 0\.5 s")
    with running(tools) as server, late:
        asked(server, seconds=0.5)
    assert len(server.calls) < 6


def test_private_addresses_are_refused():
    system = system_of("mcp", "rival", "http://127.0.0.1:9/mcp", "")
    with pytest.raises(BlockedAddress):
        ask_mcp(system, "q", {}, allow_private=False)
