"""The turn of a job: how long it works while jobs of other knowledge bases wait for a worker."""

from __future__ import annotations

import time
from collections.abc import Callable

from rag.storage import Database
from rag.storage import jobs as rows

TURN_SECONDS = 20.0
"""Long beside what it takes to take a job up again: to start a process and to load a model."""


class TurnOver(Exception):
    """A job goes back to the queue between two items; the runner alone catches it."""


class Turn:
    """One turn of one job. It begins when the job first tells its progress."""

    def __init__(
        self, database: Database, job_id: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """``clock`` gives seconds."""
        self._database = database
        self._job_id = job_id
        self._clock = clock
        self._began: float | None = None

    def begin(self) -> None:
        """Start the clock, the first time: loading models and finding the place do not count."""
        if self._began is None:
            self._began = self._clock()

    def is_over(self) -> bool:
        """Whether its time is up and another knowledge base would have the next turn."""
        if self._began is None or self._clock() - self._began < TURN_SECONDS:
            return False
        with self._database.read() as connection:
            return rows.others_come_first(connection, self._job_id)
