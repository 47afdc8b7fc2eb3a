"""The saved recipe answers readers, who name no other model: by every address that searches."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rag import Workspace
from tests.api import client
from tests.contracts.test_api_access import BASES, problem
from tests.people import signed_in, view
from tests.workspaces import QUICK, add, workspace_at

CHAT = {"answer.provider": "openai"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = workspace_at(tmp_path)
    add(found, found.create("manuals", QUICK), {"leave.md": "Unused leave lapses in March."})
    return found


@pytest.fixture(params=["nobody signs in", "members"])
def reader(request: pytest.FixtureRequest, workspace: Workspace) -> TestClient:
    """A client that may read alone."""
    api = client(workspace, "read")
    if request.param == "members":
        ann = signed_in(workspace, "ann")
        secret, _ = view(workspace, ann).create_token("reader", ["read"])
        api.headers["Authorization"] = f"Bearer {secret}"
    return api


def test_the_saved_recipe_answers_readers(reader, workspace):
    workspace.base("manuals").recipes.save(QUICK.with_fields({**CHAT, "search.hyde": True}))
    found = reader.post(f"{BASES}/manuals/search", json={"question": "leave"}).json()
    assert "hyde" in [stage["name"] for stage in found["stages"]]
    setting = {"top_k": 3, "score_threshold": 0.0}
    given = {"knowledge_id": "manuals", "query": "leave", "retrieval_setting": setting}
    assert reader.post("/api/v1/retrieval", json=given).status_code == 200
    stored = reader.post("/api/v1/vector_stores/manuals/search", json={"query": "leave"})
    assert stored.status_code == 200
    other = {"question": "leave", "fields": {"answer.model": "large"}}
    problem(reader.post(f"{BASES}/manuals/search", json=other), 403)
