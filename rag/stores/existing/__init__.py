"""Existing stores of other programs, which are read and never written to."""

from __future__ import annotations

from collections.abc import Mapping

from rag.errors import ProviderRejected
from rag.stores.existing.definition import STORE_KINDS as STORE_KINDS
from rag.stores.existing.definition import ExistingStore as ExistingStore
from rag.stores.existing.definition import StoreKind as StoreKind
from rag.stores.existing.postgresql import PostgresTable
from rag.stores.existing.qdrant_collection import QdrantCollection
from rag.stores.existing.rows import RawRow as RawRow
from rag.stores.existing.rows import ReadableStore as ReadableStore
from rag.stores.existing.rows import StoreFieldData as StoreFieldData
from rag.stores.existing.rows import StoreLayout as StoreLayout
from rag.stores.existing.rows import StoreRow as StoreRow
from rag.stores.existing.rows import VectorFieldData as VectorFieldData
from rag.stores.existing.rows import chosen as chosen
from rag.stores.existing.rows import document_row as document_row
from rag.stores.existing.search_index import SearchIndex

_KINDS: Mapping[StoreKind, type[PostgresTable] | type[QdrantCollection] | type[SearchIndex]] = {
    "pgvector": PostgresTable,
    "qdrant": QdrantCollection,
    "elasticsearch": SearchIndex,
    "opensearch": SearchIndex,
}


def open_store(
    store: ExistingStore, variables: Mapping[str, str], *, allow_private: bool
) -> ReadableStore:
    """A store that can be read; nothing is asked yet.

    ``variables`` has the environment variable that its key names. Raises ProviderRejected where
    that is not set.
    """
    for name in store.variables:
        value = variables.get(name, "")
        if not value:
            raise ProviderRejected(
                f"The {store.label} needs {name}, which is not set.",
                "Set it in the environment of the server and start it again.",
            )
        if not (value.isascii() and value.isprintable()) and store.kind != "pgvector":
            raise ProviderRejected(
                f"{name} has characters that are not allowed in a header.",
                "Set it again without them.",
            )
    return _KINDS[store.kind](store, variables, allow_private=allow_private)
