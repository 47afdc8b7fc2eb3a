"""Existing stores as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag.library.documents.library import Library
from rag.library.documents.stores.vector_check import ForeignVector
from rag.recipe import IndexRecipe
from rag.storage.builds import BuildRow
from rag.stores.existing import ExistingStore
from rag.workspace.schemas.schema import Schema, Timestamp, attribute


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


class StoreFieldData(Schema):
    """A field of a store, with the type that the store gives it."""

    name: str
    type: str


class VectorFieldData(Schema):
    """A field with vectors; `dimension` is null where the store does not fix it."""

    name: str
    dimension: int | None
    similarity: str = Field(description="cosine, dot product, Euclidean distance, or empty")


class StoreRowData(Schema):
    """A row as it becomes a document."""

    id: str
    title: str
    text: str
    metadata: dict[str, str]


class StorePreviewData(Schema):
    """A store before it is imported: its fields, some rows, and a check of its vectors."""

    store: ExistingStore
    rows: int = attribute("layout", "rows")
    fields: list[StoreFieldData] = attribute("layout", "fields")
    vectors: list[VectorFieldData] = attribute("layout", "vectors")
    sampled: int
    examples: list[StoreRowData] = attribute("rows")
    check: VectorCheckData | None
    notes: list[str]
