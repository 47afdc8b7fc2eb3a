"""Jobs of a worker alone, without a workspace, and what is waited for."""

import time
from collections.abc import Callable
from typing import Any

from rag import JobRow, Jobs
from rag.services.jobs import Job, Reporter


class Work(Job[Any]):
    """A job that does whatever its handler does."""

    kind = "work"


class Unknown(Job[None]):
    """A job of a kind that nobody does."""

    kind = "unheard-of"


class Heard(Reporter):
    """Hears the progress of a handler, and does something when it comes to a question."""

    def __init__(self, at: int = -1, then: Callable[[], object] = lambda: None) -> None:
        self.told: list[tuple[int, int, str]] = []
        self.result = None
        self._at, self._then = at, then

    def report(self, done: int, total: int, message: str) -> None:
        self.told.append((done, total, message))
        if total and done == self._at:
            self._then()


def submit(jobs: Jobs, base_id: int) -> int:
    return jobs.submit(base_id, "Working", Work(), [("a", {}), ("b", {})])


def ended(jobs: Jobs, job_id: int) -> JobRow:
    """Waits for the end of a job that a worker does."""
    until(lambda: not jobs.get(job_id).active)
    return jobs.get(job_id)


def until(reached: Callable[[], object], seconds: float = 120.0) -> None:
    """Waits; the deadline only keeps a test that fails from waiting for ever."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
