"""Builds as plain data. The shapes are a contract of CLI and API."""

from __future__ import annotations

from typing import Any

from rag.documents.library import Library
from rag.indexing.kinds import VectorChoice
from rag.storage.builds import BuildRow


def build_data(documents: Library, build: BuildRow, active: str) -> dict[str, Any]:
    """A build of some documents; ``active`` is the hash of the one that answers.

    Raises InvalidRecipe, ProviderError.
    """
    return {
        "hash": build.hash,
        "active": build.hash == active,
        "cut": build.recipe.cut,
        "recipe": build.recipe.model_dump(mode="json"),
        "documents": build.documents,
        "missing": documents.missing(build.recipe),
        "passages": build.passages,
        "vectors": vectors_data(documents.vector_index(build.recipe)),
    }


def vectors_data(choice: VectorChoice) -> dict[str, Any]:
    """Return the search method of a build's vectors, and the reason for it, as plain data."""
    return {
        "asked": choice.asked,
        "kind": choice.kind,
        "vectors": choice.vectors,
        "dimension": choice.dimension,
        "limit": choice.limit,
        "why": choice.details,
    }
