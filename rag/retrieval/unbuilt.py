"""Steps that recipes can name and retrieval does not have yet: refused, never passed over."""

from __future__ import annotations

from rag.errors import InvalidRecipe
from rag.recipe import SearchRecipe

_QUESTION = {"rewrite", "expansions", "hyde"}
_ORDER = {"rerank"}
UNBUILT = _QUESTION | _ORDER


def refuse_unbuilt(recipe: SearchRecipe) -> None:
    """Raises InvalidRecipe for a recipe that switches on what is not there."""
    asked = [f"search.{name}" for name in recipe.steps if name in UNBUILT]
    if asked:
        raise InvalidRecipe(
            f"This version cannot do what the recipe asks for: {', '.join(asked)}.",
            "Leave these fields at their defaults.",
        )
