"""Workers without a job of their own share that of another worker."""

from __future__ import annotations

import contextlib
import math
import subprocess
import time
from collections.abc import Callable

from rag.errors import Cancelled, NotFound
from rag.services.jobs.reporter import HelpersReporter, Reporter, nobody
from rag.storage import Database
from rag.storage import jobs as rows
from rag.storage.jobs import JobRow

_POLL_SECONDS = 2.0
_AGAIN_SECONDS = 30.0  # after it found nothing more to share of a job

Start = Callable[[JobRow, str], subprocess.Popen[bytes] | None]
"""Starts a process that shares a job for an owner, see ``share``; None where it is not worth it."""


class Helping:
    """The help of one worker."""

    def __init__(self, database: Database, start: Start) -> None:
        self._database = database
        self._start = start
        self._helped: dict[int, float] = {}  # jobs, and when they were helped with

    def share_job(self, owner: str, closing: Callable[[], bool]) -> bool:
        """Share the job of another worker, until ``closing``; whether there was one."""
        with self._database.read() as connection:
            others = rows.to_help(connection, owner)
        for job in others:
            if time.monotonic() - self._helped.get(job.id, -math.inf) < _AGAIN_SECONDS:
                continue
            process = self._start(job, owner)
            if process is not None:
                self._await(process, job.id, closing)
                self._helped[job.id] = time.monotonic()
                return True
        return False

    def _await(
        self, process: subprocess.Popen[bytes], job_id: int, closing: Callable[[], bool]
    ) -> None:
        """Wait for a process that helps; one that stands still is ended a while after its job."""
        last_wanted = time.monotonic()
        with process:
            try:
                while process.poll() is None and not closing():
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(_POLL_SECONDS)
                    with self._database.read() as connection:
                        if rows.takes_help(connection, job_id):
                            last_wanted = time.monotonic()
                    if time.monotonic() - last_wanted > _AGAIN_SECONDS:
                        break
            finally:
                process.kill()  # the other worker has all that it leaves


def share(
    database: Database, owner: str, job_id: int, handler: Callable[[JobRow, Reporter], object]
) -> None:
    """Let ``handler`` share a job of another worker, for ``owner``, who waits for it."""
    with (
        contextlib.suppress(Cancelled, NotFound),
        HelpersReporter(database, job_id, owner, nobody) as reporter,
    ):
        with database.read() as connection:
            job = rows.get(connection, job_id)
        handler(job, reporter)
