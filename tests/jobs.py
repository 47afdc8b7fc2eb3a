"""Jobs of a worker alone, without a workspace, and what is waited for."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from rag import JobRow, Jobs, Reporter
from rag.services.jobs import Job


class Work(Job[Any]):
    """A job that does whatever its handler does."""

    kind = "work"


class Unknown(Job[None]):
    """A job of a kind that nobody does."""

    kind = "unheard-of"


Progress = tuple[int, int, str]


@contextmanager
def heard(at: int = -1, then: Callable[[], object] = lambda: None) -> Iterator[list[Progress]]:
    """Hears the progress of jobs, and does something when one comes to a unit."""
    told, report = list[Progress](), Reporter.report

    def noted(self: Reporter, done: int, total: int, message: str, *rest: float) -> None:
        told.append((done, total, message))
        if total and done == at:
            then()
        report(self, done, total, message, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reporter, "report", noted)
        yield told


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
