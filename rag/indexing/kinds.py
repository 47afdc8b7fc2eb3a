"""Choice of a build's vector index: the kind in its recipe, or for ``auto`` a kind by size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag.recipe import IndexRecipe

Kind = Literal["flat", "hnsw", "ivf", "auto"]

BUDGET_SECONDS = 0.05
"""What a scan of all vectors may take of a search. Beyond it, auto means a graph."""
MOST_SCANNED = 100_000_000
"""Numbers (vectors times dimensions) that two cores scan within that time.

A constant, not measured anew, so that the same documents give the same kind on every machine;
``python -m rag bench --only vectors`` prints what it rests on.
"""


@dataclass(frozen=True, slots=True)
class VectorChoice:
    """The ``kind`` of a build's vector index, and what it was chosen by.

    ``limit`` is how many vectors of this dimension auto scans; None where the recipe names the
    kind, or a server has one kind of its own (``is_served``).
    """

    asked: Kind
    kind: Kind
    vectors: int
    dimension: int
    limit: int | None = None
    is_served: bool = False

    @property
    def why(self) -> str:
        """In a sentence, with the figures."""
        if self.is_served:
            return "The server of vectors decides how it searches."
        if self.limit is None:
            return "The recipe says so."
        size = f"{self.vectors:,} vectors of {self.dimension:,} dimensions are"
        budget = f"what a scan does in {1000 * BUDGET_SECONDS:.0f} ms"
        if self.kind == "flat":
            return f"{size} at most {self.limit:,}, {budget}: all are compared, which is exact."
        return f"{size} more than {self.limit:,}, {budget}: a graph is searched, approximately."


def chosen(recipe: IndexRecipe, vectors: int, dimension: int) -> VectorChoice:
    """The kind for so many vectors: the same for the same documents, whatever was there before."""
    requested = recipe.vector_index
    if requested != "auto":
        return VectorChoice(requested, requested, vectors, dimension)
    limit = MOST_SCANNED // dimension
    return VectorChoice(
        requested, "flat" if vectors <= limit else "hnsw", vectors, dimension, limit
    )
