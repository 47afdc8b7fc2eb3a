"""Processes of their own for what would be in the way of others; each has a workspace."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, replace
from functools import partial

from rag.library.documents.ingest_job import help_ingest
from rag.library.documents.job_size import can_be_shared, is_large
from rag.services.jobs import JobRow, helping, process
from rag.services.services import Services

_POOL = 2
"""Connections that the process of a job keeps: one thread does most of its work."""


@dataclass(frozen=True, slots=True)
class SubprocessLauncher:
    """A launcher of subprocesses for the worker of ``services``, if they are worth it. Their end:
    ``do_job``.
    """

    services: Services

    def large(self, job: JobRow, owner: str) -> subprocess.Popen[bytes] | None:
        """Do a job that its owner has claimed."""
        return self._started(job, owner, "do") if is_large(self.services, job) else None

    def shared(self, job: JobRow, owner: str) -> subprocess.Popen[bytes] | None:
        """Share a job with the worker of another process or machine."""
        return self._started(job, owner, "share") if can_be_shared(self.services, job) else None

    def _started(self, job: JobRow, owner: str, what: str) -> subprocess.Popen[bytes]:
        settings = self.services.settings
        settings = replace(settings, database_pool=min(settings.database_pool, _POOL))
        return process.start({what: job.id, "owner": owner, "settings": settings.as_json()})


def share(services: Services, job_id: int, owner: str) -> None:
    """Read and embed for a job of another worker, as long as there is something to claim."""
    helping.share(services.database, owner, job_id, partial(help_ingest, services))
