"""A server without file handles or memory says so, and goes on when it has some."""

from __future__ import annotations

import asyncio
import errno
import resource
import time
from collections import Counter

import httpx
import pytest
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

import app as server
from rag import KnowledgeBase
from rag.operation import operation
from tests.api import client
from tests.dashboard import running
from tests.workspaces import QUICK, add, stocked, workspace_at

PROBLEM = "application/problem+json"
UNLOADED = KeyError("a module that could not be loaded")
UNLOADED.__context__ = OSError(errno.EMFILE, "Too many open files")
LACKS = (
    UNLOADED,
    OSError(errno.EMFILE, "Too many open files"),
    MemoryError(),
    ExceptionGroup("of a task", [RuntimeError("can't start new thread")]),
    OSError(errno.ENOSPC, "No space left on device"),
)


@pytest.mark.parametrize("error", LACKS, ids=repr)
def test_an_answer_that_fails_for_a_lack_is_a_problem(error):
    async def failing(scope: Scope, receive: Receive, send: Send) -> None:
        raise error

    answer = TestClient(server.Guard(failing), "http://localhost").get("/documents")
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM)
    assert answer.headers["retry-after"] == "5"
    assert answer.json()["hint"]


@pytest.mark.parametrize("error", LACKS, ids=repr)
def test_so_is_that_of_the_api(tmp_path, monkeypatch, error):
    def failing(*_arguments: object, **_named: object) -> None:
        raise error

    workspace, _ = stocked(tmp_path, {"pump.md": "The pump leaks."}, name="notes")
    monkeypatch.setattr(KnowledgeBase, "search", operation("guest")(failing))
    found = client(workspace).post(
        "/api/v1/knowledge-bases/notes/search", json={"question": "Does it leak?"}
    )
    assert (found.status_code, found.headers["content-type"]) == (503, PROBLEM)
    assert found.headers["retry-after"] == "5"
    assert found.json()["hint"]
    workspace.close()


@pytest.mark.slow
def test_a_server_with_64_file_handles_gives_no_other_error(tmp_path):
    home = tmp_path / "home"
    workspace = workspace_at(home)
    add(workspace, workspace.create("notes", QUICK), {"pump.md": "The pump leaks."})
    token, _ = workspace.access.tokens.create("test", ("read", "write"))
    workspace.close()
    with running(home) as (url, process):
        resource.prlimit(process, resource.RLIMIT_NOFILE, (64, 64))
        outcomes = asyncio.run(_asked(url, token))
        assert outcomes["200"] > 0
        assert set(outcomes) <= {"200", f"503 {PROBLEM}", f"429 {PROBLEM}", "not connected"}
        bases = f"{url}/api/v1/knowledge-bases/notes"
        headers = {"Authorization": f"Bearer {token}"}
        files = {"files": ("valve.md", b"The valve is open.")}
        job = httpx.post(f"{bases}/documents", headers=headers, files=files).json()
        with httpx.Client(base_url=f"{url}/api/v1/", headers=headers, timeout=60) as again:
            while again.get(f"jobs/{job['id']}").json()["status"] in ("queued", "running"):
                time.sleep(0.2)  # tokens have a rate
            assert again.get(f"jobs/{job['id']}").json()["status"] == "done"


async def _asked(url: str, token: str) -> Counter[str]:
    """Ask 40 things at a time, each by a connection of its own; count the outcomes."""
    headers = {"Authorization": f"Bearer {token}"}
    outcomes = Counter[str]()

    async def ask(number: int) -> None:
        async with httpx.AsyncClient(base_url=url, headers=headers, timeout=60) as client:
            for place in range(5):
                try:
                    answer = await client.post(
                        "/api/v1/knowledge-bases/notes/search",
                        json={"question": f"Pump {number}, {place}?"},
                    )
                except httpx.TransportError:
                    outcomes["not connected"] += 1
                else:
                    kind = answer.headers["content-type"] if answer.is_error else ""
                    outcomes[f"{answer.status_code} {kind}".strip()] += 1

    await asyncio.gather(*map(ask, range(40)))
    return outcomes
