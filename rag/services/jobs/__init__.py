"""Long work that survives the process: the runner, which knows no kind of job."""

from __future__ import annotations

from rag.services.jobs.job import Job, StoredIndexRecipe, StoredRecipe
from rag.services.jobs.reporter import Reporter
from rag.services.jobs.runner import Handler, Jobs
from rag.storage.jobs import JobItem, JobRow

__all__ = [
    "Handler",
    "Job",
    "JobItem",
    "JobRow",
    "Jobs",
    "Reporter",
    "StoredIndexRecipe",
    "StoredRecipe",
]
