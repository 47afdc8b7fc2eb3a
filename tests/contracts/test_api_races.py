"""A knowledge base that somebody else renames or deletes while a request is answered."""

import pytest

from rag import KnowledgeBase, KnowledgeBaseData, ScopedWorkspace, Settings, Workspace
from rag.api import resource
from tests.api import client
from tests.contracts.test_api_access import BASES
from tests.contracts.test_hostile_input import REAL, addresses, written
from tests.workspaces import QUICK, open_or_create, workspace_at


@pytest.mark.slow
@pytest.mark.parametrize("happens", ["renamed", "deleted", "replaced"])
def test_no_address_breaks_when_its_base_changes_meanwhile(tmp_path, monkeypatch, happens):
    workspace = Workspace(Settings.from_env({"TOUCHSTONE_API_RATE": "1000000"}, home=tmp_path))
    looked_up = resource.base_called

    def meanwhile(scoped: ScopedWorkspace, kb: str) -> KnowledgeBase:
        base = looked_up(scoped, kb)
        if happens == "renamed":
            workspace.rename("manuals", "others")
        else:
            workspace.delete("manuals")
        if happens == "replaced":
            workspace.create("manuals", QUICK)
        return base

    api, broken = client(workspace), []
    document = api.get("/api/v1/openapi.json").json()
    tried = 0
    for each in addresses(document):
        if "{kb}" not in each.path:
            continue
        base = open_or_create(workspace, "manuals")
        base.questions.create_set("policies")
        base.questions.add_question("policies", "How long?")
        with monkeypatch.context() as patch:
            patch.setattr(resource, "base_called", meanwhile)
            path = each.path.format(**{name: REAL.get(name, "q1") for name, _ in each.parameters})
            if each.form:
                sent = api.post(path, data={"name": "x"}, files={"file": b"x", "files": b"x"})
            elif each.body is None:
                sent = api.request(each.method, path)
            else:
                headers = {"Content-Type": "application/json"}
                body = written(_sound(each.body))
                sent = api.request(each.method, path, content=body, headers=headers)
        tried += 1
        if not 200 <= sent.status_code < 500:
            broken.append((sent.status_code, each.method, each.path, sent.text[:200]))
        for info in workspace.bases():
            workspace.delete(info.name)
    assert broken == []
    assert tried > 40


def test_a_base_that_is_renamed_while_it_is_told_of_is_told_of(tmp_path, monkeypatch):
    workspace = workspace_at(tmp_path)
    workspace.create("manuals", QUICK)
    api, listed = client(workspace), ScopedWorkspace.bases

    def meanwhile(scoped: ScopedWorkspace) -> list[KnowledgeBaseData]:
        workspace.rename(workspace.bases()[0].name, "others")
        return listed(scoped)

    monkeypatch.setattr(ScopedWorkspace, "bases", meanwhile)
    assert api.get(f"{BASES}/manuals").json()["name"] == "others"
    monkeypatch.setattr(ScopedWorkspace, "bases", lambda _: [])
    assert api.get(f"{BASES}/others").status_code == 404


def _sound(body: object) -> object:
    """A body with fields of a recipe that need no model, so that it gets as far as it can."""
    if isinstance(body, dict) and "recipe" in body:
        body = body | {"recipe": QUICK.model_dump(mode="json"), "fields": {}}
    if isinstance(body, dict) and "fields" in body:
        body = body | {"fields": {"search.top_k": 3}}
    return body
