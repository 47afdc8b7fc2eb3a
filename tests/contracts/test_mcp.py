"""The official client of MCP, over HTTP and over standard input and output."""

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from rag import VERSION, Workspace
from tests.api import served
from tests.rooms import ROOT
from tests.workspaces import QUICK, add, surroundings, workspace_at

LEAVE = "Unused leave may be carried over until the end of March."


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = workspace_at(tmp_path)
    add(found, found.create("manuals", QUICK), {"leave.md": LEAVE, "cats.md": "Cats purr."})
    add(found, found.create("more", QUICK), {"more.md": "Leave is lost in April."})
    return found


async def called(client: Any, name: str, **given: str) -> dict[str, Any]:
    answer = await client.call_tool(name, given)
    assert not answer.is_error, answer.content
    told: dict[str, Any] = json.loads(answer.content[0].text)
    assert answer.structured_content == told
    (tool,) = [tool for tool in (await client.list_tools()).tools if tool.name == name]
    assert tool.output_schema["additionalProperties"] is False
    Draft202012Validator(tool.output_schema).validate(told)
    return told


async def use(client: Any) -> None:
    """Every tool, and what it answers."""
    listed = await client.list_tools()
    reading = [tool.name for tool in listed.tools if tool.annotations.read_only_hint]
    assert reading[:4] == ["search", "fetch", "ask", "explain"]
    assert not {"evaluate", "save_recipe", "label"}.intersection(reading)
    assert not any(tool.annotations.destructive_hint for tool in listed.tools)
    found = await called(client, "search", query="unused leave", knowledge_base="manuals")
    first = found["results"][0]
    assert (first["title"], first["text"], first["url"]) == ("leave.md", LEAVE, "")
    whole = await called(client, "fetch", id=first["id"])
    assert (whole["id"], whole["title"], whole["text"]) == (first["id"], "leave.md", LEAVE)
    assert whole["metadata"]["knowledge_base"] == "manuals"
    everywhere = await called(client, "search", query="leave")
    assert {"leave.md", "more.md"} <= {each["title"] for each in everywhere["results"]}
    more = next(each for each in everywhere["results"] if each["title"] == "more.md")
    other = await called(client, "fetch", id=more["id"])
    assert other["metadata"]["knowledge_base"] == "more"
    asked = {"knowledge_base": "manuals"}
    answer = await called(client, "ask", question="When is unused leave lost?", **asked)
    assert answer["citations"][0]["document"] == "leave.md"
    why = await called(client, "explain", question="leave", words="Cats", **asked)
    assert [each["document"] for each in why["found"]] == ["cats.md"]
    for name in ("nothing", "²:x@0", "1:x@²", f"{'9' * 30}:x@0", f"1:x@{2**31}"):
        wrong = await client.call_tool("fetch", {"id": name})
        assert wrong.is_error
        assert "no such result" in wrong.content[0].text


def test_over_http(workspace):
    secret, _ = workspace.access.tokens.create("mcp", ["read", "ask"])
    reader, _ = workspace.access.tokens.create("reader", ["read"])

    async def visit(address: str) -> None:
        for token in (secret, reader):
            headers = {"Authorization": f"Bearer {token}"}
            async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
                transport = streamable_http_client(f"{address}/mcp", http_client=http)
                async with Client(transport) as client:
                    assert client.server_info.version == VERSION
                    if token == secret:
                        await use(client)
                    else:
                        refused = await client.call_tool("ask", {"question": "leave"})
                        assert refused.is_error
                        assert "'ask'" in refused.content[0].text
        async with httpx2.AsyncClient(trust_env=False) as http:
            assert (await http.post(f"{address}/mcp", json={})).status_code == 401
            headers = {"Authorization": f"Bearer {secret}", "Accept": "text/event-stream"}
            # A stream that waits for nothing would be there when the token is no more.
            async with http.stream("GET", f"{address}/mcp", headers=headers) as stream:
                assert (stream.status_code, stream.headers["allow"]) == (405, "POST")

    with served(workspace) as address:
        anyio.run(visit, address)


def test_over_standard_input_and_output(workspace):
    home = workspace.settings.home
    reader, row = workspace.access.tokens.create("reader", ["read"])

    def started(**more: str) -> StdioServerParameters:
        command, there = ["-m", "rag", "mcp", "--home", str(home)], surroundings(home, **more)
        return StdioServerParameters(command=sys.executable, args=command, cwd=str(ROOT), env=there)

    async def visit() -> None:
        async with Client(started()) as client:
            await use(client)
        async with Client(started(TOUCHSTONE_API_TOKEN=reader)) as client:
            assert (await called(client, "search", query="leave"))["results"]
            assert (await client.call_tool("ask", {"question": "leave"})).is_error
            workspace.access.tokens.revoke(row.id)  # while the client stays
            refused = await client.call_tool("search", {"query": "leave"})
            assert refused.is_error
            assert "not a valid token" in refused.content[0].text

    anyio.run(visit)
