"""The stored documents of a knowledge base, which the operations on documents read and change."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from rag.services.jobs import Jobs
from rag.services.services import Services
from rag.storage import Connection, documents, passage_edits


def documents_hash(ids: Iterable[str], edits: str = "") -> str:
    """SHA-256 of sorted document ids: tells whether two runs searched the same documents.

    ``edits`` is the digest of what people decided about passages; it counts where there is one.
    """
    lines = [*sorted(ids), *([f"edits {edits}"] if edits else [])]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def documents_hash_now(connection: Connection, base_id: int) -> str:
    """Return the ``documents_hash`` of the documents that a base holds."""
    edits = passage_edits.digest(connection, base_id)
    return documents_hash(documents.ids_by_name(connection, base_id).values(), edits)


class StoredDocuments:
    """The stored documents of one knowledge base."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._database = services.database
        self._base_id = base_id
