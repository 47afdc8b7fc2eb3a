"""Long work that survives the process: the runner, which knows no kind of job."""

from __future__ import annotations

from rag.jobs.runner import Handler, Jobs, Reporter
from rag.storage.jobs import JobItem, JobRow

__all__ = ["Handler", "JobItem", "JobRow", "Jobs", "Reporter"]
