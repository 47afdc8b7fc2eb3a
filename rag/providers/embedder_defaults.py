"""Search defaults of a recipe that depend on its embedder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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


def changed_recipe(
    before: Recipe, data: Any = None, fields: Mapping[str, Any] | None = None
) -> Recipe:
    """``before`` with what plain data names by part, then with ``fields`` by dotted name.

    All else stays, but another embedder brings the dense weight that it deserves, unless the
    request names a weight. Raises InvalidRecipe, naming the field.
    """
    data, fields = {} if data is None else data, fields or {}
    recipe = before.merged(data).with_fields(fields)
    weighed = "format" in data or "dense_weight" in data.get("search", ())
    if weighed or "search.dense_weight" in fields:
        return recipe
    return with_embedder_weight(before, recipe)
