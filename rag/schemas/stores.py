"""Existing stores as JSON."""

from __future__ import annotations

from pydantic import Field

from rag.schemas.indexes import VectorCheckData
from rag.schemas.schema import Schema, attribute
from rag.stores.existing import ExistingStore


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
