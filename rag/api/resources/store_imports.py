"""Imports from existing stores: preview, and start."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import ConfigDict, Field

from rag import ExistingStore, Made, StorePreviewData
from rag.api.resource import Base, Body, Maker, Resource, Shared, needs
from rag.api.resources.documents import queued
from rag.api.resources.jobs import JobData
from rag.api.threads import dear

store_imports = Resource("documents")


_STORE: dict[str, Any] = {
    "kind": "pgvector",
    "address": "postgresql://reader@db.example/manuals",
    "name": "passages",
    "key": "TOUCHSTONE_TOOL_DB",
}
_ASKED = ConfigDict(json_schema_extra={"examples": [{"store": _STORE, "embedder": "minilm"}]})


class StoreToPreview(Body):
    """A store to look at. The vectors are checked where an embedder is named."""

    model_config = _ASKED

    store: dict[str, Any]
    embedder: str = Field("", max_length=500)


class StoreToImport(Body):
    """A store to import, with the embedder that made its vectors."""

    model_config = _ASKED

    store: dict[str, Any]
    embedder: str = Field(min_length=1, max_length=500)


@store_imports.post(
    "/knowledge-bases/{kb}/store-imports/preview", **needs("write", 400, 404, 415, 502)
)
@dear
def preview_store(base: Base, body: StoreToPreview) -> StorePreviewData:
    """Look at the fields and some rows of an existing store, which is only read."""
    store = ExistingStore.parse(body.store)
    return StorePreviewData.of(base.documents.preview_store(store, body.embedder))


@store_imports.post(
    "/knowledge-bases/{kb}/store-imports",
    **needs("write", 400, 404, 409, 415, 502, response_model=JobData, status_code=202),
)
@dear
def import_store(
    request: Request, workspace: Shared, base: Base, body: StoreToImport, idempotent: Maker
) -> Response:
    """Queue the import of an existing store: its texts as documents, with its vectors."""

    def make() -> Made:
        store = ExistingStore.parse(body.store)
        return queued(request, workspace, base.documents.import_store(store, body.embedder))

    return idempotent(body.model_dump(), make)
