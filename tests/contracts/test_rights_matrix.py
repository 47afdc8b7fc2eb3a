"""Every address and every tool of MCP, by every role: generated from what they say of themselves.

Which role an operation takes follows from its scope: the two can never say different things.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from sqlalchemy import text
from starlette.testclient import TestClient

from rag import ROLES, SCOPES, HttpSystem, Workspace, reaches
from rag.api.mcp_experiments import TOOLS
from tests.api import client, served
from tests.people import signed_in, view
from tests.servers import Reply, scripted
from tests.workspaces import QUICK, add, stored_bytes, workspace_at

GREY_CAT = "Each grey cat gets fresh meat in the morning, weighed:"
LEAVE = "Unused leave may be carried over until the end of March."
LEAST = {
    "read": "viewer",
    "ask": "viewer",
    "label": "labeller",
    "experiment": "editor",
    "recipe": "editor",
    "write": "editor",
    "admin": "owner",
}
"""The role that an operation takes, by its scope."""
WHY = "To see who may do this."
NOBODY = ("none", "expired", "revoked", "link", "not a token")
MEMBERS = tuple(ROLES)
OF_NO_BASE = {
    ("get", "/v1/knowledge-bases"),
    ("post", "/v1/knowledge-bases"),
    ("get", "/v1/recipe-schema"),
}
"""What asks for nothing of a knowledge base that is there."""


@dataclass
class Filled:
    """A knowledge base with one of everything, and the secrets of all who might ask for it."""

    workspace: Workspace
    base_id: int
    ids: dict[str, str]
    secrets: dict[str, str]


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    started = workspace_at(tmp_path_factory.mktemp("home"))
    started.close()
    workspace = Workspace(replace(started.settings, allow_private_urls=True))
    base = workspace.create("manuals", QUICK)
    pets = {
        "cats.md": "Cats purr.",
        "grey.md": f"{GREY_CAT} 200 g",
        "food.md": f"{GREY_CAT} 300 g",
    }
    add(workspace, base, {"leave.md": LEAVE, **pets})
    base.recipes.save(QUICK)
    (document,) = (d.id for d in base.documents.documents(QUICK.index) if d.name == "leave.md")
    base.questions.create_set("policies")
    question = base.questions.add_question("policies", "When is leave lost?", answerable=True)
    label = base.questions.label(
        "policies", question_id=question, document_id=document, start=0, end=20, grade=1
    )
    base.questions.create_set("replaced")
    base.questions.add_question("replaced", "Who pays lunch?")
    number = base.questions.save("replaced", ())
    job = base.runs.start_evaluation("policies", QUICK)
    workspace.jobs.run(job)
    run = base.runs.list_all()[0].id
    other = base.runs.evaluate("policies", QUICK.with_fields({"search.top_k": 3})).run.id
    base.runs.start_decision(run, other, "precision@10")
    unused = QUICK.with_fields({"index.chunk_size": 12}).index
    base.documents.prepare_build(unused)
    ids = {
        "kb": str(base.id),
        "store": str(base.id),
        "version": QUICK.hash,
        "build": unused.hash,
        "document": document,
        "job": str(job),
        "questions": str(base.questions.named("policies").id),
        "label": str(label),
        "run": run,
        "against": other,
        "number": str(number),
        "replaced": str(base.questions.named("replaced").id),
        "question": base.questions.add_question("policies", "Who pays lunch?"),
        "question_id": question,
        "member": "guest@example.org",
        "link": base.access.create_link("fair")[1].id,
        "tour": str(base.conversations.tours.create("For the board")),
        "system": "rival",
        "kind": "linear",
        "finding": base.documents.examinations.examine().open[0].id,
    }
    base.access.add_member(ids["member"])
    with scripted(Reply(body="[]")) as server:
        base.systems.add(HttpSystem.parse({"name": "rival", "url": f"{server.url}?q={{question}}"}))
        yield Filled(workspace, base.id, ids, _secrets(workspace))
    workspace.close()


def _secrets(workspace: Workspace) -> dict[str, str]:
    """A token with all scopes for each role, and what is no token or none any more."""
    tokens = workspace.access.tokens
    secrets = {"local": "", "link": workspace.base("manuals").access.create_link()[0]}
    for name in ("owner", *(role for role in MEMBERS if role != "owner"), "stranger"):
        person = signed_in(workspace, name)  # the first one gets the base
        if name not in ("owner", "stranger"):
            workspace.base("manuals").access.add_member(person.email, name)
        secrets[name] = view(workspace, person).create_token("matrix", SCOPES)[0]
    owner = view(workspace, signed_in(workspace, "owner"))
    secrets["expired"], late = owner.create_token("late", SCOPES, days=1)
    secrets["revoked"], gone = owner.create_token("gone", SCOPES)
    owner.revoke_token(gone.id)
    with workspace._services.database.write() as connection:
        connection.execute(
            text("UPDATE api_token SET expires = :at WHERE id = :id"),
            {"at": datetime.now(UTC) - timedelta(seconds=1), "id": late.id},
        )
    secrets["local"] = tokens.create("cli", SCOPES)[0]
    return secrets | {"none": "", "not a token": "touchstone_x"}


def _operations(document: dict[str, Any]) -> list[tuple[str, str, str, Any]]:
    """(method, path, scope, example of a body) of every address; what deletes comes last."""
    found = []
    for path, item in document["paths"].items():
        for method, operation in item.items():
            (asked,) = operation["security"]
            content = operation.get("requestBody", {}).get("content", {})
            example = content.get("application/json", {}).get("example")
            found.append((method, path, asked["bearer"][0], example))
    return sorted(found, key=lambda each: (each[0] == "delete", -len(each[1])))


def _asked(filled: Filled, method: str, path: str, example: Any, role: str) -> dict[str, Any]:
    """What to send: the example of the OpenAPI document about things that are there."""
    address = "/api" + path
    if path.endswith("/restore"):
        address = address.replace("{questions}", "{replaced}")
    for name, value in filled.ids.items():
        address = address.replace(f"{{{name}}}", value)
    about = {
        "name": f"{method} {path.rpartition('/')[2]} by {role}",
        "email": f"{role}.s@example.org",
        "like": filled.ids["kb"],
        "knowledge_id": filled.ids["kb"],
        "set": filled.ids["questions"],
    }
    about |= {"document_id": filled.ids["document"], "question_id": filled.ids["question_id"]}
    about |= {"start": 0, "end": 20, "against": filled.ids["against"], "judgements": []}
    asked: dict[str, Any] = {"method": method, "url": address}
    if path.endswith("/systems"):
        about["name"] = role
    if example is not None:
        asked["json"] = {name: about.get(name, value) for name, value in example.items()}
    elif path.endswith("/documents"):
        asked["files"] = [("files", (f"{role}.txt", f"{role} writes."))] if method == "post" else []
    elif path.endswith("/import"):
        asked["data"] = {"name": role}
        asked["files"] = {"file": (f"{role}.jsonl", '{"id": "q1", "text": "why?"}')}
    elif path.endswith("/parity"):
        asked["params"] = {"other": filled.ids["run"]}
    elif path.endswith("/decision"):
        asked["params"] = {"against": filled.ids["against"]}
    elif path.endswith("/recipe-export"):
        asked["params"] = {"target": "qdrant"}
    elif path.endswith("/comparison"):
        asked["params"] = {"baseline": filled.ids["run"]}
    return asked


def test_every_address_by_every_role(filled):
    inside = client(filled.workspace)
    every = _operations(inside.get("/api/v1/openapi.json").json())
    outside = TestClient(inside.app, raise_server_exceptions=False)
    assert len(every) >= 62
    seen = dict.fromkeys((401, 403, 404, 200), 0)

    def status(role: str, method: str, path: str, example: Any) -> int:
        secret = filled.secrets[role]
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        asked = _asked(filled, method, path, example, role)
        found = outside.request(**asked, headers=headers)
        if found.status_code == 404 and role == "stranger":
            assert "manuals" not in found.text
            assert LEAVE not in found.text
        return found.status_code

    for method, path, scope, example in every:
        where = method, path, scope
        for role in NOBODY:
            assert status(role, method, path, example) == 401, (*where, role)
            seen[401] += 1
        if (method, path) not in OF_NO_BASE:
            assert status("stranger", method, path, example) == 404, where
            seen[404] += 1
            refused = MEMBERS[: MEMBERS.index(LEAST[scope])]
        else:
            refused = ()
        for role in refused:
            assert status(role, method, path, example) == 403, (*where, role)
            seen[403] += 1
        for number, role in enumerate((*MEMBERS[len(refused) :], "local")):
            found = status(role, method, path, example)
            # What the first one deleted is gone for the others.
            gone = number > 0 and method == "delete"
            # No store is there to read, and keys of the server are for administrators alone.
            no_store = "/store-imports" in path and found in (403, 422)
            assert found < 300 or no_store or (gone and found == 404), (
                *where,
                role,
                found,
            )
            seen[200] += 1
    assert seen[401] == len(NOBODY) * len(every)
    assert seen[404] == len(every) - len(OF_NO_BASE)
    assert seen[403] >= 56


def test_a_list_has_only_what_is_ones_own(filled):
    workspace = filled.workspace
    hidden = workspace.create("hidden", QUICK)
    for role in ("stranger", "viewer"):
        headers = {"Authorization": f"Bearer {filled.secrets[role]}"}
        outside = TestClient(client(workspace).app)
        listed = outside.get("/api/v1/knowledge-bases", headers=headers).json()["items"]
        assert hidden.id not in {each["id"] for each in listed}
        taken = outside.post("/api/v1/knowledge-bases", headers=headers, json={"name": "hidden"})
        assert taken.status_code == 409  # names are the one thing that all share
        copied = {"name": "copy", "like": "hidden"}
        refused = outside.post("/api/v1/knowledge-bases", headers=headers, json=copied)
        assert refused.status_code == 404


def test_every_tool_by_every_role(tmp_path):
    started = workspace_at(tmp_path)
    started.close()
    workspace = Workspace(replace(started.settings, allow_private_urls=True))
    base = workspace.create("manuals", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    secrets = _secrets(workspace)
    (document,) = base.documents.documents(QUICK.index)
    base.recipes.save(QUICK)
    base.questions.create_set("policies")
    asked = base.questions.add_question("policies", "When is leave lost?")
    base.questions.label("policies", asked, document.id, 0, 20, 1)
    for number in range(8):  # a sweep needs some
        more = base.questions.add_question("policies", f"Is leave {number} lost?")
        base.questions.label("policies", more, document.id, 0, 20, 1)
        base.questions.edit_question("policies", more, group="-")
    run = base.runs.evaluate("policies", QUICK).run.id
    question = base.questions.collect("policies by models", "When?", origin="model")
    about = {"knowledge_base": "manuals", "question_set": "policies", "reason": WHY}
    calls = {
        "search": {"query": "leave", "knowledge_base": "manuals"},
        "fetch": {"id": f"{base.id}:{document.id}@0"},
        "ask": {"question": "When is leave lost?", "knowledge_base": "manuals"},
        "explain": {"question": "leave", "words": "March", "knowledge_base": "manuals"},
        "list_knowledge_bases": {},
        "get_recipe": {"knowledge_base": "manuals"},
        "list_questions": about,
        "evaluate": about,
        "compare_runs": {**about, "run": run, "baseline": run},
        "sweep": {**about, "grid": {"search.top_k": [3, 5]}},
        "diagnose": about,
        "try_recipe": {**about, "fields": {"search.top_k": 3}},
        "propose_questions": about,
        "add_question": {**about, "question": "Who pays?"},
        "label": {**about, "question_id": question, "document": "leave.md", "quote": "March"},
        "save_recipe": {"knowledge_base": "manuals", "reason": WHY, "fields": {}},
        "gate": {**about, "minimums": {"recall@5": 0.1}, "fields": {}},
        "audit_system": {**about, "system": "rival"},
    }
    least = {tool.work.__name__: LEAST[tool.scope] for tool in TOOLS}
    # Reading what an agent may change needs no more than to view.
    least |= {"list_questions": "viewer", "compare_runs": "viewer"}

    @contextmanager
    def authorized(role: str) -> Iterator[dict[str, str]]:
        yield {"Authorization": f"Bearer {secrets[role]}"} if secrets[role] else {}

    async def visit(address: str) -> dict[tuple[str, str], bool]:
        let_in = {}
        for role in (*NOBODY, "stranger", *MEMBERS, "local"):
            with authorized(role) as headers:
                async with httpx2.AsyncClient(headers=headers, trust_env=False) as http:
                    if role in NOBODY:
                        refused = await http.post(f"{address}/mcp", json={})
                        assert refused.status_code == 401, role
                        continue
                    transport = streamable_http_client(f"{address}/mcp", http_client=http)
                    async with Client(transport) as session:
                        listed = await session.list_tools()
                        assert {tool.name for tool in listed.tools} == calls.keys()
                        everywhere = {"search": {"query": "leave"}, **calls}
                        for name, given in everywhere.items():
                            told = await session.call_tool(name, given)
                            let_in[role, name] = not told.is_error
                            if role == "stranger":
                                assert LEAVE not in json.dumps([str(c) for c in told.content])
                        told = await session.call_tool("search", {"query": "leave"})
                        let_in[role, "search everywhere"] = not told.is_error
        return let_in

    with scripted(Reply(body="[]")) as server:
        system = {"name": "rival", "url": f"{server.url}?q={{question}}"}
        base.systems.add(HttpSystem.parse(system))
        with served(workspace) as address:
            let_in = anyio.run(visit, address)
    workspace.close()
    tools = (*calls, "search everywhere")
    expected = {
        (role, tool): role == "local" or reaches(role, least.get(tool, "viewer"))
        for role in (*MEMBERS, "local")
        for tool in tools
    }
    everybody = ("list_knowledge_bases",)  # with what they may see, which may be nothing
    assert let_in == expected | {("stranger", tool): tool in everybody for tool in tools}


@pytest.mark.usefixtures("database")
def test_a_stolen_database_lets_nobody_in(tmp_path, monkeypatch):
    """No token, no link, no key of a provider stands in it, nor anything else that is secret."""
    monkeypatch.setenv("MISTRAL_API_KEY", "very-secret-figures")
    workspace = workspace_at(tmp_path)
    base = workspace.create("manuals", QUICK)
    add(workspace, base, {"leave.md": LEAVE})
    secrets = [secret for secret in _secrets(workspace).values() if secret]
    ann = view(workspace, signed_in(workspace, "ann"))
    ann.create("hers", QUICK).access.create_link()
    assert workspace.statuses()
    workspace.access.audit.flush()
    dumped = stored_bytes(workspace)
    assert b"viewer@example.org" in dumped  # it is the database that was looked through
    for secret in (*secrets, "very-secret-figures"):
        stem = secret.removeprefix("touchstone_").removeprefix("share_")
        assert len(stem) == 1 or stem.encode() not in dumped
    assert b"touchstone_" not in dumped.replace(b"touchstone_visitor", b"")
    assert b"share_" not in dumped.replace(b"share_link", b"").replace(b"split_share_", b"")
