"""The addresses of the API: what they answer, and what they make."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

import pytest

from rag import Recipe, Workspace, write_log_lines
from tests.contracts.test_api_access import BASES, problem
from tests.workspaces import QUICK, add, found

LEAVE = "Unused leave may be carried over until the end of March.\n\n"
TRAVEL = "Trains are booked by the office. Flights need the consent of the board.\n\n"


@contextmanager
def log_lines() -> Iterator[io.StringIO]:
    """What a server writes to its log within the block."""
    logger, written = logging.getLogger("rag"), io.StringIO()
    with redirect_stderr(written):
        write_log_lines("rag")
    try:
        yield written
    finally:
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)


@pytest.fixture
def manuals(workspace: Workspace) -> str:
    """The address of a knowledge base with two documents."""
    base = workspace.create("manuals", QUICK)
    add(workspace, base, {"leave.md": LEAVE, "travel.md": TRAVEL})
    return f"{BASES}/{base.id}"


def test_knowledge_bases_are_made_renamed_listed_and_deleted(api):
    made = api.post(BASES, json={"name": " a/b ", "recipe": QUICK.model_dump(mode="json")})
    assert made.status_code == 201
    known = made.json()
    assert (known["name"], known["documents"], known["passages"]) == ("a/b", 0, 0)
    address = made.headers["location"]
    assert address == f"{BASES}/{known['id']}"
    assert api.get(address).json() == known
    renamed = api.patch(address, json={"name": "c"})
    assert renamed.json() == known | {"name": "c"}
    assert api.get(f"{BASES}/c").json() == known | {"name": "c"}
    assert api.post(BASES, json={"name": "d", "like": "c"}).status_code == 201
    assert api.get(f"{BASES}/d/recipe").json()["hash"] == QUICK.hash
    problem(api.post(BASES, json={"name": "c"}), 409)
    problem(api.post(BASES, json={"name": ""}), 422)
    assert api.delete(address).status_code == 204
    problem(api.get(address), 404)
    assert [each["name"] for each in api.get(BASES).json()["items"]] == ["d"]


def test_lists_come_in_pages(api, workspace):
    for name in "abcde":
        workspace.create(name, QUICK)
    seen: list[str] = []
    following: str | None = f"{BASES}?limit=2"
    while following:
        page = api.get(following).json()
        assert page["total"] == 5
        seen += [each["name"] for each in page["items"]]
        following = page["next"]
    assert seen == list("abcde")
    assert api.get(f"{BASES}?offset=9").json() == {"items": [], "total": 5, "next": None}
    for bad in ("limit=0", "limit=201", "offset=-1", "limit=x", "offset=99999999999"):
        problem(api.get(f"{BASES}?{bad}"), 422)


def test_recipes_have_versions(api, manuals):
    first = api.get(f"{manuals}/recipe").json()
    assert first["hash"] == QUICK.hash
    changed = api.patch(f"{manuals}/recipe", json={"fields": {"search.top_k": 2}}).json()
    assert changed["recipe"]["search"]["top_k"] == 2
    assert changed["hash"] == QUICK.with_fields({"search.top_k": 2}).hash
    api.put(f"{manuals}/recipe", json={"recipe": QUICK.model_dump(mode="json")})
    versions = api.get(f"{manuals}/recipes").json()["items"]
    assert [each["hash"] for each in versions] == [QUICK.hash, changed["hash"]]
    assert changed.pop("job") is None  # the index is there
    assert api.get(f"{manuals}/recipes/{changed['hash']}").json() == changed
    problem(api.get(f"{manuals}/recipes/none"), 404)
    told = problem(api.patch(f"{manuals}/recipe", json={"fields": {"search.tpo_k": 2}}), 422)
    assert "search.top_k" in str(told["hint"])
    assert api.get("/api/v1/recipe-schema").json() == Recipe.model_json_schema()


def test_a_field_that_somebody_else_saves_meanwhile_stays(api, workspace, manuals, monkeypatch):
    saved, other = Recipe.with_fields, QUICK.with_fields({"search.candidates": 50})

    def later(recipe: Recipe, changes: Any) -> Recipe:
        monkeypatch.undo()
        workspace.base("manuals").recipes.save(other)
        return saved(recipe, changes)

    monkeypatch.setattr(Recipe, "with_fields", later)
    changed = api.patch(f"{manuals}/recipe", json={"fields": {"search.top_k": 2}}).json()
    assert changed["hash"] == other.with_fields({"search.top_k": 2}).hash
    assert api.get(f"{manuals}/recipe").json()["hash"] == changed["hash"]
    versions = api.get(f"{manuals}/recipes").json()["items"]
    assert [each["hash"] for each in versions] == [changed["hash"], other.hash]


def test_a_recipe_that_was_replaced_meanwhile_is_not_saved_over(workspace, manuals):
    base, mine = workspace.base("manuals"), QUICK.with_fields({"search.top_k": 2})
    theirs = QUICK.with_fields({"search.top_k": 3})
    assert base.recipes.save(theirs, instead_of=QUICK)
    assert not base.recipes.save(mine, instead_of=QUICK)
    assert base.recipe() == theirs
    assert [each.hash for _, each in base.recipes.versions()] == [theirs.hash]


def test_a_search_finds_what_the_workspace_finds(api, workspace, manuals):
    question = "When is unused leave lost?"
    answer = api.post(f"{manuals}/search", json={"question": question}).json()
    assert [hit["text"] for hit in answer["hits"]] == found(workspace.base("manuals"), question)
    assert answer["hits"][0]["document"] == "leave.md"
    one = {"question": question, "fields": {"search.top_k": 1}}
    assert len(api.post(f"{manuals}/search", json=one).json()["hits"]) == 1
    other = workspace.create("more", QUICK)
    add(workspace, other, {"more.md": "Leave is lost in April."})
    both = api.post(f"{manuals}/search", json={"question": question, "also": ["more"]}).json()
    assert {hit["knowledge_base"] for hit in both["hits"]} == {"manuals", "more"}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"question": " "}, 422, "The question is empty."),
        ({"question": "a", "fields": {"index.chunk_size": 99}}, 422, "no index"),
        ({"question": "a", "fields": {"search.top_k": -1}}, 422, "search.top_k"),
        ({"question": "a", "also": ["none"]}, 404, "none"),
        ({"question": "a", "also": ["manuals"]}, 422, "searched already"),
        ({"question": "a", "colour": "red"}, 422, "body.colour"),
        ({}, 422, "body.question: Field required"),
    ],
)
def test_a_search_that_cannot_be_is_refused(api, manuals, body, status, said):
    assert said in str(problem(api.post(f"{manuals}/search", json=body), status)["detail"])


def test_bodies_that_are_not_json_are_refused(api, manuals):
    as_json = {"Content-Type": "application/json"}
    for content, headers, status in (
        (b"{", as_json, 400),
        (b"{}", {}, 415),
        (b"a=b", {"Content-Type": "a/b"}, 415),
    ):
        answered = api.post(f"{manuals}/search", content=content, headers=headers)
        assert problem(answered, status)["status"] == status


def test_passages_are_explained(api, workspace, manuals):
    asked = {"question": "unused leave"}
    hit = api.post(f"{manuals}/search", json=asked).json()["hits"][0]
    told = api.post(f"{manuals}/explain", json=asked | {"chunk_id": hit["chunk_id"]}).json()
    assert (told["rank"], told["document"], told["text"]) == (1, "leave.md", hit["text"])
    assert told["attribution"] is None
    with_words = asked | {"chunk_id": hit["chunk_id"], "attribution": True}
    parts = api.post(f"{manuals}/explain", json=with_words).json()["attribution"]
    assert "".join(part["text"] for part in parts["sentences"]).strip() == hit["text"].strip()
    found_by = api.post(f"{manuals}/explain", json=asked | {"find": "Flights need"}).json()
    assert [each["document"] for each in found_by["found"]] == ["travel.md"]
    named = api.post(f"{manuals}/explain", json=asked | {"document": "travel.md"}).json()
    assert {each["document"] for each in named["found"]} == {"travel.md"}
    against = asked | {"against": {"search.top_k": 1}}
    compared = api.post(f"{manuals}/explain", json=against).json()
    assert len(compared["after"]["hits"]) == 1 < len(compared["before"]["hits"])
    problem(api.post(f"{manuals}/explain", json=asked), 422)
    problem(api.post(f"{manuals}/explain", json=asked | {"chunk_id": "zz"}), 422)
    problem(api.post(f"{manuals}/explain", json=asked | {"document": "none"}), 404)


def test_a_request_with_a_key_is_done_once(api, workspace):
    key = {"Idempotency-Key": "one"}
    first = api.post(BASES, json={"name": "a"}, headers=key)
    second = api.post(BASES, json={"name": "a"}, headers=key)
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert first.headers["location"] == second.headers["location"]
    problem(api.post(BASES, json={"name": "b"}, headers=key), 422)
    problem(api.post(BASES, json={"name": "a"}), 409)
    assert [info.name for info in workspace.bases()] == ["a"]


def test_what_nobody_expected_has_an_id_and_no_traceback(api, workspace, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    api.get(BASES)
    monkeypatch.setattr(workspace, "bases", broken)
    answer = api.get(BASES)
    told = problem(answer, 500)
    assert "secret detail" not in answer.text
    assert "Traceback" not in answer.text
    assert str(told["instance"]) in caplog.text
    assert "secret detail" in caplog.text


def test_a_request_has_an_id_in_its_answer_its_problem_and_the_log(api, manuals):
    mine = {"X-Request-ID": "proxy-1.a"}
    assert api.get(manuals, headers=mine).headers["X-Request-ID"] == "proxy-1.a"
    others = [api.get(manuals, headers={"X-Request-ID": name}) for name in ("", "a b", "a" * 65)]
    assert len({answer.headers["X-Request-ID"] for answer in others}) == 3
    told = problem(api.get(f"{BASES}/none", headers=mine), 404)
    assert told["request_id"] == "proxy-1.a"
    with log_lines() as written:
        api.get(manuals, headers={**mine, "Authorization": "Bearer wrong"})
        files = {"files": ("new.txt", b"Trains leave at nine.")}
        api.post(f"{manuals}/documents", headers=mine, files=files)
    refused, queued = [line for line in written.getvalue().splitlines() if "[proxy-1.a]" in line]
    assert "token is unknown" in refused
    assert "Reading new.txt" in queued


def test_a_file_that_was_not_read_is_a_line_of_the_log(workspace):
    base = workspace.create("manuals", QUICK)
    with log_lines() as written:
        add(workspace, base, {"a.pdf": "no PDF", "b.txt": "Trains leave at nine."})
    (line,) = [line for line in written.getvalue().splitlines() if "a.pdf" in line]
    assert "plain text" in line


def test_an_answer_outside_a_conversation_is_a_line_of_figures(api, manuals, workspace, caplog):
    caplog.set_level(logging.INFO, "touchstone.turns")
    question = {"question": "How long may unused leave be carried over?"}
    answer = api.post(f"{manuals}/ask", json=question)
    streamed = api.post(f"{manuals}/ask", json=question | {"stream": True})
    workspace.base("manuals").ask(question["question"], QUICK).close()
    *lines, last = map(json.loads, caplog.messages)
    requests = [each.headers["X-Request-ID"] for each in (answer, streamed)]
    assert [line["request_id"] for line in lines] == requests
    assert {(line["turn"], line["mode"], line["decision"]) for line in lines} == {
        (None, "quotes", "complete")
    }
    assert (last["decision"], "request_id" in last) == ("interrupted", False)
