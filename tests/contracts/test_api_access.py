"""Who gets in: every address with no token, with one that is over, and without its scope."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rag import SCOPES, Settings, Workspace
from tests.api import client, operations
from tests.workspaces import QUICK, workspace_at

BASES = "/api/v1/knowledge-bases"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = workspace_at(tmp_path)
    found.create("manuals", QUICK)
    return found


def problem(answer, status: int) -> dict[str, object]:  # type: ignore[no-untyped-def]
    """What an answer tells of a problem, which it has to."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    told: dict[str, object] = answer.json()
    assert told["status"] == status
    assert told["type"] == "about:blank"
    assert told["title"]
    assert told["detail"]
    return told


def test_no_address_lets_anybody_in_without_the_right_token(workspace):
    inside = client(workspace)
    every = list(operations(inside.get("/api/v1/openapi.json").json()))
    assert ("post", "/api/v1/knowledge-bases/{kb}/search", "read") in every
    assert {scope for *_, scope in every} <= set(SCOPES)
    revoked, row = workspace.access.tokens.create("revoked", SCOPES)
    workspace.access.tokens.revoke(row.id)
    outside = TestClient(inside.app, raise_server_exceptions=False)
    for method, path, scope in every:
        address = path.replace("{kb}", "manuals")
        for header in ({}, {"Authorization": f"Bearer {revoked}"}, {"Authorization": "Basic a"}):
            told = outside.request(method, address, headers=header)
            assert problem(told, 401)["hint"]
            assert told.headers["www-authenticate"].startswith("Bearer")
            ended = "expired or was revoked" in str(problem(told, 401)["detail"])
            assert ended == ('error="invalid_token"' in told.headers["www-authenticate"])
            assert ended == (header.get("Authorization") == f"Bearer {revoked}")
        secret, _ = workspace.access.tokens.create("others", set(SCOPES) - {scope})
        told = outside.request(method, address, headers={"Authorization": f"Bearer {secret}"})
        assert scope in str(problem(told, 403)["detail"])
        assert "token create" in str(problem(told, 403)["hint"])
    assert [info.name for info in workspace.bases()] == ["manuals"]


def test_what_nobody_knows_is_told_to_nobody_outside(workspace):
    inside = client(workspace, "read")
    outside = TestClient(inside.app)
    for path in ("/api/v1/nothing", "/api", "/api/v2/knowledge-bases", "/api/v1/docsx"):
        problem(outside.get(path), 401)
    problem(inside.get("/api/v1/nothing"), 404)
    problem(inside.delete(BASES), 405)


def test_an_address_with_a_line_break_is_answered_as_any_other(workspace):
    inside = client(workspace, "read")
    problem(TestClient(inside.app).get(f"{BASES}/a%0Ab"), 401)
    told = problem(inside.get(f"{BASES}/a%0Ab"), 404)
    assert told["detail"] == "There is no knowledge base named 'a\\nb'."


def test_every_operation_has_the_name_of_a_method_of_a_client(workspace):
    document = client(workspace).get("/api/v1/openapi.json").json()
    found = [one["operationId"] for item in document["paths"].values() for one in item.values()]
    assert len(set(found)) == len(found)
    assert [name for name in found if not re.fullmatch(r"[a-z]+(_[a-z]+)+", name)] == []
    assert {"list_documents", "search_passages", "start_evaluation"} <= set(found)


def test_the_reference_of_the_api_needs_no_token(workspace):
    workspace.create("plans of the merger", QUICK)
    inside = client(workspace, "read")
    outside = TestClient(inside.app)
    document = outside.get("/api/v1/openapi.json")
    assert document.json()["openapi"] == "3.1.0"
    assert "plans of the merger" not in document.text
    assert document.json() == inside.get("/api/v1/openapi.json").json()
    page = outside.get("/api/v1/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    sources = re.findall(r'(?:src|href)="(docs/[^"]+)"', page.text)
    assert sources == [
        "docs/assets/swagger-ui.css",
        "docs/assets/swagger-ui-bundle.js",
        "docs/start.js",
    ]
    for source in sources:
        assert outside.get(f"/api/v1/{source}").status_code == 200, source
    for path in ("docs/../knowledge-bases", "docs/assets/../../knowledge-bases", "docs/x"):
        assert outside.get(f"/api/v1/{path}").status_code in (401, 404), path
    assert outside.post("/api/v1/docs").status_code == 405


def test_who_asks_too_often_waits(tmp_path):
    settings = Settings.from_env({"TOUCHSTONE_API_RATE": "3"}, home=tmp_path)
    workspace = Workspace(settings)
    inside = client(workspace, "read")
    assert [inside.get(BASES).status_code for _ in range(3)] == [200, 200, 200]
    refused = inside.get(BASES)
    problem(refused, 429)
    assert 1 <= int(refused.headers["retry-after"]) <= 20
    other = client(workspace, "read")
    other.app = inside.app
    assert other.get(BASES).status_code == 200
    workspace.close()


def test_health_needs_no_token(workspace, monkeypatch):
    outside = TestClient(client(workspace).app)
    assert outside.get("/healthz").json() == {"status": "ok"}
    ready = outside.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ok"})
    with workspace._services.database.write() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    unready = outside.get("/readyz")
    assert unready.status_code == 503
    assert unready.json()["reasons"] == ["The database has the schema of another version."]
    assert outside.get("/healthz").status_code == 200


def test_a_home_that_cannot_be_written_is_not_ready(workspace):
    outside = TestClient(client(workspace).app)
    home = workspace.settings.home
    home.rename(home.with_name("moved"))
    assert outside.get("/readyz").json()["reasons"][-1] == "The home folder cannot be written to."
