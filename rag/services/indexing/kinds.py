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
    def headline(self) -> str:
        """The kind of search and the reason for it, in one sentence."""
        if self.is_served:
            return "Search by the vector server."
        search = "Exact search" if self.kind == "flat" else "Approximate search"
        if self.limit is None:
            return f"{search} (set in the recipe)."
        return f"{search} ({'small' if self.kind == 'flat' else 'large'} index)."

    @property
    def details(self) -> str:
        """The figures behind the headline, in sentences."""
        if self.is_served:
            return "The vector server decides how it searches."
        if self.limit is None:
            return f"The recipe sets index.vector_index to {self.kind}."
        budget = (
            f"Up to {self.limit:,} vectors of {self.dimension:,} dimensions can be compared in "
            f"{1000 * BUDGET_SECONDS:.0f} ms. This index has {self.vectors:,}"
        )
        if self.kind == "flat":
            return f"{budget}, so every search compares all of them."
        return f"{budget}, so searches follow a graph instead, which can miss a near vector."


def chosen(recipe: IndexRecipe, vectors: int, dimension: int) -> VectorChoice:
    """The kind for so many vectors: the same for the same documents, whatever was there before."""
    requested = recipe.vector_index
    if requested != "auto":
        return VectorChoice(requested, requested, vectors, dimension)
    limit = MOST_SCANNED // dimension
    return VectorChoice(
        requested, "flat" if vectors <= limit else "hnsw", vectors, dimension, limit
    )
