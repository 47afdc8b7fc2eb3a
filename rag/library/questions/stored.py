"""The stored question sets of a knowledge base, which the operations on questions read."""

from __future__ import annotations

from rag.storage import Database


class StoredQuestions:
    """The stored question sets of one knowledge base."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id
