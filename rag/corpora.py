"""The corpus that a recipe searches, put together from services."""

from __future__ import annotations

from rag.evaluation.calibration import Calibration
from rag.indexing import Index, lookup
from rag.recipe import Recipe
from rag.retrieval import Corpus
from rag.services import Services


def corpus(
    services: Services,
    base_id: int,
    recipe: Recipe,
    index: Index,
    calibration: Calibration | None = None,
) -> Corpus:
    """What ``recipe`` searches in ``index``, with what its steps need.

    ``calibration`` is that of the recipe's limit. Raises InvalidRecipe or ProviderError.
    """
    return Corpus(
        embedder=services.models.embedder(recipe.index.embedder),
        dense=index.dense,
        lexical=index.lexical,
        lookup=lookup(services.database, base_id, index.cut_id),
        calibration=calibration,
    )
