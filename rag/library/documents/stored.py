"""The stored documents of a knowledge base, which the operations on documents read and change."""

from __future__ import annotations

from rag.services.jobs import Jobs
from rag.services.services import Services


class StoredDocuments:
    """The stored documents of one knowledge base."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._database = services.database
        self._base_id = base_id
