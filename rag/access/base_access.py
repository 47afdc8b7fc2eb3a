"""The access to a knowledge base: its members, and the people who have a link."""

from __future__ import annotations

from rag.access.links import Links
from rag.access.members import Members
from rag.storage import Database


class BaseAccess(Members, Links):
    """The members of one knowledge base, and the links to it."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id
