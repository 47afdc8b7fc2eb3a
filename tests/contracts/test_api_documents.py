"""What the API says of documents beside their text: tags, the file itself, and the builds."""

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rag import Workspace
from rag.storage import files as file_parts
from tests.api import client
from tests.contracts.test_api_access import BASES, problem
from tests.people import signed_in, view
from tests.workspaces import QUICK, add, stocked

LEAVE = "Unused leave may be carried over until the end of March. Café."


@pytest.fixture
def workspace(home: Path) -> Workspace:
    documents = {"leave.md": LEAVE, "travel.md": "Trains are booked by the office."}
    return stocked(home, documents, name="manuals")[0]


@pytest.fixture
def manuals(workspace: Workspace) -> str:
    return f"{BASES}/{workspace.base('manuals').id}"


def called(api: TestClient, manuals: str, name: str) -> str:
    """The address of a document by name."""
    listed = api.get(f"{manuals}/documents").json()["items"]
    (found,) = (each["id"] for each in listed if each["name"] == name)
    return f"{manuals}/documents/{found}"


def test_tags_are_read_and_set_and_filter_searches(api, manuals):
    leave = called(api, manuals, "leave.md")
    assert api.get(f"{leave}/tags").json() == {"tags": []}
    given = {"tags": ["policy", " two  words ", "2026", "policy"]}
    kept = {"tags": ["2026", "policy", "two words"]}
    assert api.put(f"{leave}/tags", json=given).json() == kept
    assert api.get(f"{leave}/tags").json() == kept
    assert api.get(leave).json()["tags"] == kept["tags"]
    asked = {"question": "trains and leave", "fields": {"search.tags": ["policy"]}}
    hits = api.post(f"{manuals}/search", json=asked).json()["hits"]
    assert {hit["document"] for hit in hits} == {"leave.md"}
    assert api.put(f"{leave}/tags", json={"tags": []}).json() == {"tags": []}
    problem(api.put(f"{leave}/tags", json={"tags": ["  "]}), 422)
    problem(api.put(f"{leave}/tags", json={"tags": ["a"] * 51}), 422)
    problem(api.put(f"{leave}/tags", json={"tag": []}), 422)
    for address in (f"{manuals}/documents/none/tags", f"{BASES}/none/documents/none/tags"):
        problem(api.get(address), 404)
        problem(api.put(address, json={"tags": []}), 404)


def test_a_file_comes_back_as_it_was_sent(api, workspace, manuals):
    page = b"<html><body><p>Fran\xe7ais</p><script>alert(1)</script></body></html>"
    files = [("files", ("a/Preisliste \xfc.html", page)), ("files", ("plain.txt", b"Cats purr."))]
    workspace.jobs.run(api.post(f"{manuals}/documents", files=files).json()["id"])
    listed = api.get(f"{manuals}/documents").json()["items"]
    (name,) = (each["name"] for each in listed if each["name"].endswith(".html"))
    sent = api.get(called(api, manuals, name) + "/original")
    assert (sent.status_code, sent.content) == (200, page)
    assert sent.headers["content-type"] == "text/html"
    assert sent.headers["content-length"] == str(len(page))
    assert sent.headers["content-disposition"] == (
        "attachment; filename*=UTF-8''Preisliste%20%C3%BC.html"
    )
    assert sent.headers["x-content-type-options"] == "nosniff"
    leave = api.get(called(api, manuals, "leave.md") + "/original")
    assert (leave.text, leave.headers["content-type"]) == (LEAVE, "text/markdown")
    assert leave.headers["content-disposition"] == 'attachment; filename="leave.md"'


def test_a_file_that_was_not_kept_or_is_of_another_base_is_not_there(api, workspace, manuals):
    leave = called(api, manuals, "leave.md")
    other = workspace.create("other", QUICK)
    problem(api.get(f"{BASES}/{other.id}/documents/{leave.rpartition('/')[2]}/original"), 404)
    problem(api.get(f"{manuals}/documents/none/original"), 404)
    path = workspace.base("manuals").documents.original(leave.rpartition("/")[2])
    path.unlink()  # as a document that came as a row of a collection never had one
    with workspace._services.database.write() as connection:
        file_parts.forget_parts(connection, [path.name])
    told = problem(api.get(f"{leave}/original"), 404)
    assert told["detail"] == "The file of 'leave.md' was not kept."
    assert api.get(leave).json()["text"] == LEAVE


def test_whoever_downloads_is_in_the_audit_log(workspace, manuals):
    ann = signed_in(workspace, "ann")
    secret, _ = view(workspace, ann).create_token("hers", ["read"])
    api = client(workspace)
    api.headers["authorization"] = f"Bearer {secret}"
    assert api.get(called(api, manuals, "leave.md") + "/original").status_code == 200
    workspace.access.audit.flush()
    entries = [line.entry for line in view(workspace, ann).audit()]
    noted = [(each.kind, each.action, each.detail, each.via) for each in entries]
    assert ("export", "documents.original", "leave.md", "api") in noted


def test_builds_are_listed_and_unused_ones_deleted(api, workspace, manuals):
    base = workspace.base("manuals")
    base.recipes.save(QUICK)
    other = QUICK.with_fields({"index.chunk_size": 12}).index
    workspace.jobs.run(base.documents.build(other))
    add(workspace, base, {"late.md": "Canteens open at noon."})
    unbuilt = QUICK.with_fields({"index.chunk_size": 48}).index
    base.documents.prepare_build(unbuilt)
    listed = api.get(f"{manuals}/builds").json()
    assert listed["total"] == 3
    told = {each["hash"]: each for each in listed["items"]}
    used = told[QUICK.index.hash]
    assert (used["active"], used["documents"], used["missing"]) == (True, 3, 0)
    assert used["recipe"] == QUICK.index.model_dump(mode="json")
    assert used["passages"] == sum(each.passages for each in base.documents.documents(QUICK.index))
    assert (used["vectors"]["kind"], used["vectors"]["vectors"]) == ("flat", used["passages"])
    assert used["created"].endswith("+00:00")
    assert (told[unbuilt.hash]["documents"], told[unbuilt.hash]["missing"]) == (0, 3)
    assert told[other.hash]["active"] is False
    assert api.delete(f"{manuals}/builds/{other.hash}").status_code == 204
    left = {each["hash"] for each in api.get(f"{manuals}/builds").json()["items"]}
    assert left == {QUICK.index.hash, unbuilt.hash}
    problem(api.delete(f"{manuals}/builds/{other.hash}"), 404)
    refused = problem(api.delete(f"{manuals}/builds/{QUICK.index.hash}"), 422)
    assert refused["detail"] == "This index answers the questions now."
    found = api.post(f"{manuals}/search", json={"question": "unused leave"}).json()
    assert found["hits"][0]["document"] == "leave.md"


def test_all_passages_are_listed_in_pages_with_their_context(api, workspace, manuals):
    base = workspace.base("manuals")
    recipe = base.recipe().index
    expected = [
        (chunk.id, info.name, chunk.text, chunk.context)
        for info in base.documents.documents(recipe)
        for chunk in base.documents.chunks(info.id, recipe)
    ]
    rows, address = [], f"{manuals}/passages?limit=1"
    while address:
        page = api.get(address).json()
        assert page["total"] == len(expected)
        rows += page["items"]
        address = page["next"]
    columns = ("chunk_id", "document", "text", "context")
    assert [tuple(row[column] for column in columns) for row in rows] == expected


def test_a_change_of_another_state_than_the_one_seen_is_refused(api, workspace, manuals):
    seen = api.get(f"{manuals}/recipe")
    tag = {"If-Match": seen.headers["etag"]}
    assert seen.headers["etag"] == f'"{seen.json()["hash"]}"'
    change = {"fields": {"search.top_k": 7}}
    assert api.patch(f"{manuals}/recipe", json=change, headers=tag).status_code == 200
    problem(api.patch(f"{manuals}/recipe", json={"fields": {"search.top_k": 8}}, headers=tag), 412)
    assert workspace.base("manuals").recipe().search.top_k == 7

    workspace.base("manuals").questions.create_set("checks")
    checks = f"{manuals}/question-sets/checks"
    tag = {"If-Match": api.get(checks).headers["etag"]}
    assert api.post(f"{checks}/questions", json={"question": "When?"}).status_code == 201
    problem(api.delete(checks, headers=tag), 412)
    tag = {"If-Match": api.get(checks).headers["etag"]}
    assert api.delete(checks, headers=tag).status_code == 204
