"""Tokens for programs, and what was answered to requests that may be repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rag.storage import Database


class Access:
    """What lets programs in: ``tokens``, and ``replies`` to what they may ask again."""

    def __init__(self, database: Database) -> None:
        from rag.access.replies import KeptReplies
        from rag.access.tokens import Tokens

        self.tokens = Tokens(database)
        self.replies = KeptReplies(database)
