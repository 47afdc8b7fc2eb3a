"""Search defaults of a recipe that depend on its embedder."""

from __future__ import annotations

from rag.providers.table import default_dense_weight
from rag.recipe import Recipe


def with_embedder_weight(before: Recipe, recipe: Recipe) -> Recipe:
    """``recipe`` with the dense weight that its embedder deserves, where it is another one.

    A weight that is not the one of the embedder before was chosen, and stays. Raises InvalidRecipe
    for an unknown embedder.
    """
    former, present = before.index.embedder, recipe.index.embedder
    if former == present or recipe.search.dense_weight != default_dense_weight(former):
        return recipe
    return recipe.with_fields({"search.dense_weight": default_dense_weight(present)})
