"""Builds as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag.documents.library import Library
from rag.documents.stores.vector_check import ForeignVector
from rag.recipe import IndexRecipe
from rag.schemas.schema import Schema, Timestamp, attribute
from rag.storage.builds import BuildRow


class VectorsData(Schema):
    """The search method of a build's vectors, and the reason for it."""

    asked: Literal["auto", "flat", "hnsw", "ivf"]
    kind: Literal["auto", "flat", "hnsw", "ivf"]
    vectors: int
    dimension: int
    limit: int | None
    why: str = attribute("details")


class BuildData(Schema):
    """A build of some documents; ``active`` is the one that answers."""

    hash: str
    active: bool
    cut: str
    recipe: IndexRecipe
    documents: int
    missing: int
    passages: int
    vectors: VectorsData
    created: Timestamp


def build_data(documents: Library, build: BuildRow, active: str) -> BuildData:
    """Describe a build; ``active`` is the hash of the one that answers.

    Raises InvalidRecipe, ProviderError.
    """
    return BuildData(
        hash=build.hash,
        active=build.hash == active,
        cut=build.recipe.cut,
        recipe=build.recipe,
        documents=build.documents,
        missing=documents.missing(build.recipe),
        passages=build.passages,
        vectors=VectorsData.of(documents.vector_index(build.recipe)),
        created=build.created,
    )


class VectorCheckData(Schema):
    """A sample of stored vectors compared with those of their texts."""

    sampled: int
    foreign: list[ForeignVector]
    share: tuple[float, float]
    median: float = Field(description="the median cosine of the sample")
