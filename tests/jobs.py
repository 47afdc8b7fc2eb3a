"""Jobs of a worker alone, without a workspace."""

import time

from rag import JobRow, Jobs


def submit(jobs: Jobs, base_id: int) -> int:
    return jobs.submit(base_id, "work", "Working", {"n": 3}, [("a", {}), ("b", {})])


def ended(jobs: Jobs, job_id: int) -> JobRow:
    """Waits for the end of a job that a worker does."""
    deadline = time.monotonic() + 60
    while (job := jobs.get(job_id)).active:
        assert time.monotonic() < deadline, "the job did not end"
        time.sleep(0.01)
    return job
