"""What was stored before it was refused is read all the same, and repaired."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from rag import InvalidRecipe, Recipe, Workspace
from tests.api import client
from tests.contracts.test_api_access import BASES
from tests.workspaces import QUICK, add, workspace_at

pytestmark = pytest.mark.usefixtures("database")

HALF = {"search.heading": "\ud800"}
PAGES = {"search.pages": "1," * 5000 + "7"}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    found = workspace_at(tmp_path)
    base = found.create("manuals", QUICK)
    add(found, base, {"leave.md": "Leave is thirty days."})
    base.recipes.save(QUICK)
    return found


def plant(workspace: Workspace, changes: dict[str, Any]) -> str:
    """Stores a recipe as if nothing were refused, as the saved one and as a version; returns the
    hash that it is stored under."""
    data = QUICK.model_dump(mode="json")
    for name, value in changes.items():
        part, _, field = name.partition(".")
        data[part][field] = value
    with workspace._services.database.write() as connection:
        row = {"recipe": json.dumps(data)}
        connection.execute(text("UPDATE knowledge_base SET recipe = :recipe"), row)
        version = "base_id, 'abcdefabcdef', :recipe, saved FROM recipe_version"
        connection.execute(
            text(f"INSERT INTO recipe_version (base_id, hash, recipe, saved) SELECT {version}"), row
        )
    return "abcdefabcdef"


@pytest.mark.parametrize(
    ("changes", "read"), [(HALF, {"search.heading": "?"}), (PAGES, {})], ids=["half", "pages"]
)
def test_a_recipe_that_would_be_refused_is_read_searched_and_repaired(workspace, changes, read):
    plant(workspace, changes)
    base, expected = workspace.base("manuals"), QUICK.with_fields(read)
    assert base.recipe() == expected
    assert {recipe.hash for _, recipe in base.recipes.versions()} == {QUICK.hash, expected.hash}
    api = client(workspace)
    for path in ("", "/recipe", "/recipes", f"/recipes/{expected.hash}"):
        assert api.get(f"{BASES}/manuals{path}").status_code == 200
    assert api.post(f"{BASES}/manuals/search", json={"question": "leave"}).status_code == 200
    found = {(each.kind, each.what) for each in workspace.check()}
    assert ("damaged", "recipe") in found
    assert all(each.repaired for each in workspace.check(repair=True))
    assert workspace.check() == []
    assert base.recipe() == expected
    assert {recipe.hash for _, recipe in base.recipes.versions()} == {QUICK.hash, expected.hash}


def test_tags_that_are_no_text_are_read_and_repaired(workspace):
    base = workspace.base("manuals")
    base.questions.create_set("policies")
    base.questions.add_question("policies", "How long? \U0001f600", tags=["\U0001f600"])
    with workspace._services.database.write() as connection:
        connection.exec_driver_sql('UPDATE question SET tags = \'["a\\ud800", "b\\u0000"]\'')
    tags = client(workspace).get(f"{BASES}/manuals/question-sets/policies/questions").json()
    assert tags["items"][0]["tags"] == ["a?", "b"]
    problems = workspace.check(repair=True)
    assert [(each.what, each.name) for each in problems] == [
        ("text", "1 in question.tags that is none")
    ]
    assert workspace.check() == []


def test_what_never_was_a_recipe_is_none():
    data = QUICK.model_dump(mode="json")
    data["search"]["unheard_of"] = 1
    with pytest.raises(InvalidRecipe, match="unheard_of"):
        Recipe.restore(data)
    with pytest.raises(InvalidRecipe, match="chunk_overlap"):
        Recipe.restore({"index": {"chunk_size": 8, "chunk_overlap": 9, "embedder": "x" * 999}})
