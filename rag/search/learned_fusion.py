"""The learned fusion that a recipe names."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from rag.errors import InvalidInput
from rag.learned_fusion import FusionModel, model_from_dict
from rag.recipe import Recipe
from rag.search.threshold import BM25_FIELDS
from rag.services import Services
from rag.storage import Connection
from rag.storage.quality import learned_fusions


def learned_with(recipe: Recipe) -> dict[str, Any]:
    """The fields that cosine and BM25 depend on, by dotted name."""
    fields = recipe.fields()
    names = ("index.embedder", *(f"search.{name}" for name in BM25_FIELDS))
    return {name: fields[name] for name in names}


def fusion_hash(model: FusionModel, fields: Mapping[str, Any]) -> str:
    """Twelve hex digits over a model and the fields that it was learned with."""
    content = json.dumps({"model": model.to_dict(), "fields": dict(fields)}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:12]


def fusion_model(services: Services, base_id: int, recipe: Recipe) -> FusionModel | None:
    """The learned fusion of a recipe; None where it names none.

    Raises InvalidInput where the knowledge base has none of this hash, or has it for another
    embedder or BM25.
    """
    if recipe.search.learned_fusion is None:
        return None
    with services.database.read() as connection:
        return stored_fusion(connection, base_id, recipe)


def stored_fusion(connection: Connection, base_id: int, recipe: Recipe) -> FusionModel | None:
    """Read what ``fusion_model`` returns. Raises as it does."""
    name = recipe.search.learned_fusion
    if name is None:
        return None
    row = learned_fusions.find(connection, base_id, name)
    if row is None:
        raise InvalidInput(
            f"This knowledge base has no learned fusion {name}.",
            "Set search.learned_fusion to one of its own, or to null. The verb "
            "`learned-fusions` lists them.",
        )
    now = learned_with(recipe)
    other = [field for field, value in row.learned_with.items() if now.get(field) != value]
    if other:
        was = ", ".join(f"{field}={row.learned_with[field]}" for field in other)
        raise InvalidInput(
            f"The learned fusion {name} was learned with {was}, and this recipe differs.",
            "Use these values, learn it again, or set search.learned_fusion to null.",
        )
    return model_from_dict(row.model)
