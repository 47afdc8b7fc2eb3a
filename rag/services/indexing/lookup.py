"""Lookup of passages by their keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rag.storage import Connection, Database, bases, documents, passages
from rag.types import Chunk

PassagesByKey = dict[int, tuple[Chunk, str]]


def lookup(
    database: Database, base_id: int, cut_id: int, version: int = 0
) -> Callable[[Sequence[int]], PassagesByKey]:
    """Read passages with the names of their documents, by key.

    A replica is asked once it has the ``version`` of the knowledge base in which they were found.
    """

    def is_ready(connection: Connection) -> bool:
        return bases.has_version(connection, base_id, version)

    def read(keys: Sequence[int]) -> PassagesByKey:
        def among(connection: Connection) -> PassagesByKey:
            chunks = passages.by_key(connection, cut_id, keys)
            ids = list({chunk.document_id for chunk in chunks.values()})
            names = documents.names(connection, base_id, ids)
            return {key: (chunk, names[chunk.document_id]) for key, chunk in chunks.items()}

        return database.nearby(among, is_ready)

    return read
