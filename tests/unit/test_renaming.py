"""Another name for a knowledge base, and recipes that cannot be saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag import AlreadyExists, InvalidInput, InvalidRecipe, NotFound
from rag.__main__ import main
from tests.workspaces import QUICK, add, found, workspace_at


def test_a_renamed_base_keeps_what_it_holds(home: Path) -> None:
    workspace = workspace_at(home)
    add(workspace, workspace.create("notes", QUICK), {"a.txt": "Leave lapses."})
    workspace.create("other", QUICK)
    workspace.rename("notes", " policies ")
    assert found(workspace.base("policies"), "leave") == ["Leave lapses."]
    with pytest.raises(NotFound):
        workspace.base("notes")
    with pytest.raises(AlreadyExists):
        workspace.rename("policies", "other")
    with pytest.raises(InvalidInput):
        workspace.rename("policies", " ")
    assert main(["rename", "policies", "rules"]) == 0
    assert main(["rename", "policies", "rules"]) == 2
    assert [info.name for info in workspace.bases()] == ["other", "rules"]


@pytest.mark.parametrize("field", ["embedder", "analyzer"])
def test_a_recipe_that_cannot_work_is_not_saved(home: Path, field: str) -> None:
    base = workspace_at(home).create("notes", QUICK)
    with pytest.raises(InvalidRecipe, match="nonsense"):
        base.save_recipe(QUICK.with_fields({f"index.{field}": "nonsense"}))
    assert base.recipe() == QUICK
