"""The stored runs of a knowledge base, which the operations on runs read."""

from __future__ import annotations

from rag.storage import Database


class StoredRuns:
    """The stored runs of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id
