"""Another name for a knowledge base, and recipes that cannot be saved."""

import pytest

from rag import InvalidRecipe
from tests.workspaces import QUICK, workspace_at


@pytest.mark.parametrize("field", ["embedder", "analyzer"])
def test_a_recipe_that_cannot_work_is_not_saved(home, field):
    base = workspace_at(home).create("notes", QUICK)
    with pytest.raises(InvalidRecipe, match="nonsense"):
        base.save_recipe(QUICK.with_fields({f"index.{field}": "nonsense"}))
    assert base.recipe() == QUICK
