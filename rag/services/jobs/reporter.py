"""Progress reports of jobs, with the remaining time at the measured pace."""

from __future__ import annotations

import contextlib
import logging
import math
import threading
import time
from collections.abc import Callable
from typing import Any, NoReturn

from rag.errors import Cancelled, NotFound, TouchstoneError
from rag.storage import Connection, Database, leases
from rag.storage import jobs as rows
from rag.storage.jobs import JobRow

log = logging.getLogger(__name__)

ATTENDED_SECONDS = 30.0
"""How long it is believed that a worker lives after it said so."""
HEARTBEAT_SECONDS = 0.4
TURN_SECONDS = 20.0
"""How long a job works while jobs of other knowledge bases wait for a worker.

Long beside what it takes to take a job up again: to start a process and to load a model.
"""
_SETTLE_SECONDS = 2.0  # a pace measured over less says nothing

_ENDING = threading.Event()
"""The process was asked to end."""

Watch = Callable[[int, int, str], None]
"""Hears the progress of a job: units done, units in all, and what it does now."""


class TurnOver(Exception):
    """A job goes back to the queue between two items; the runner alone catches it."""


def nobody(_done: int, _total: int, _message: str) -> None:
    """Nobody watches."""


def end_process() -> NoReturn:
    """Raise KeyboardInterrupt, here and from the next report of a job in the main thread.

    A signal may arrive within a callback whose exceptions Python ignores, such as that of a weak
    reference: raised there alone, it would be lost.
    """
    _ENDING.set()
    raise KeyboardInterrupt


class _Pace:
    """The time left of work that tells only how many of its units are done.

    It is measured from the first telling on, so that waiting and starting do not count.
    """

    def __init__(self) -> None:
        self._first: tuple[float, int] | None = None

    def left(self, done: int, total: int) -> float | None:
        """Seconds, None while nothing can be said."""
        now = time.monotonic()
        if self._first is None or done < self._first[1]:
            self._first = (now, done)
        seconds, advanced = now - self._first[0], done - self._first[1]
        if seconds < _SETTLE_SECONDS or advanced <= 0:
            return None
        return (total - done) * seconds / advanced


class Reporter:
    """A channel through which a handler reports its progress and learns that it must stop.

    A heartbeat writes to the database, so a progress report costs the handler nothing. Plain data
    that a handler puts in ``result`` is stored at the end of the job, and of each turn.
    """

    def __init__(
        self,
        database: Database,
        job_id: int,
        owner: str,
        watch: Watch,
        clock: Callable[[], float] | None = None,
        *,
        helps: bool = False,
    ) -> None:
        """By ``clock``, in seconds, the job takes turns; without, it works until it ends.

        A worker that ``helps`` with a job of another worker reports no progress. It stops when the
        job ends, or when another job waits for a worker.
        """
        self._helps = helps
        self._database = database
        self._job_id = job_id
        self._owner = owner
        self._watch = watch
        self._progress = (0, 0, "")
        self._told = False
        self._clock = clock
        self._turn_began: float | None = None
        self._gives_way = False
        self._ends: float | None = None  # when, by this process's clock
        self._pace = _Pace()
        self.result: Any = None
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="job-heartbeat", daemon=True)

    @property
    def progress(self) -> tuple[int, int, str]:
        """Units done, units in all, and what is done now."""
        return self._progress

    def __enter__(self) -> Reporter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def report(
        self, done: int, total: int, message: str, seconds_left: float | None = None
    ) -> None:
        """Set the progress. Raises Cancelled when the user stopped the job.

        ``seconds_left`` is for those who know better than the pace of the units so far; it is
        infinite while they do not know.
        """
        seconds = self._pace.left(done, total) if seconds_left is None else seconds_left
        self._ends = None if seconds in (None, math.inf) else time.monotonic() + seconds
        self._progress = (done, total, message)
        self._told = True
        if self._clock and self._turn_began is None:  # loading models before it does not count
            self._turn_began = self._clock()
        self._heed()

    def carried(self) -> Any:
        """Return the ``result`` of an earlier turn of the job; None if there is none."""
        return self._database.fetch(rows.result, self._job_id)

    def keep(self, result: Any) -> None:
        """Set the ``result`` and store it now, for who takes the job up if this process dies."""
        self._database.execute(self.keep_with, result)

    def keep_with(self, connection: Connection, result: Any) -> None:
        """Set the ``result`` and store it in the transaction of a connection."""
        self.result = result
        rows.keep_result(connection, self._job_id, self._owner, result)

    def turn_is_over(self) -> bool:
        """Whether the job should begin nothing more, and then ``give_way``.

        So it is where its time is up and another knowledge base would have the next turn.
        """
        if self._clock is None:
            return False
        self._gives_way = True
        if self._turn_began is None or self._clock() - self._turn_began < TURN_SECONDS:
            return False
        return self._database.fetch(rows.others_come_first, self._job_id)

    def give_way(self) -> None:
        """Let jobs of other knowledge bases have their turns; to be called between items.

        Raises TurnOver where the job is to go back to the queue: all that it finished is stored,
        and its handler runs again from the start. Raises Cancelled as ``on_progress``.
        """
        self._heed()
        if self.turn_is_over():
            raise TurnOver

    def _heed(self) -> None:
        if _ENDING.is_set() and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt
        if self.cancelled():
            raise Cancelled("Stopped.")

    def cancelled(self) -> bool:
        """Whether the work should stop."""
        return self._stop.is_set()

    def stopped_within(self, seconds: float) -> bool:
        """Wait until the work should stop, so many seconds at most; whether it should."""
        return self._stop.wait(seconds)

    def stop(self) -> None:
        """Make ``cancelled`` true; the process shuts down."""
        self._stop.set()

    def _beat(self) -> None:
        while not self._ended.wait(HEARTBEAT_SECONDS):
            self._watch(*self._progress)
            self._write()

    def _write(self) -> None:
        seconds = None if self._ends is None else max(self._ends - time.monotonic(), 0.0)
        try:
            with self._database.write() as connection:
                goes_on = self._goes_on(connection, seconds)
                leases.renew(connection, self._owner, ATTENDED_SECONDS)
        except TouchstoneError:
            log.warning("The progress of job %s could not be stored.", self._job_id, exc_info=True)
            return
        if not goes_on:
            self._stop.set()

    def _goes_on(self, connection: Connection, seconds: float | None) -> bool:
        """Store the progress; False when the job was cancelled or taken away.

        Until there is any, that of an earlier turn stays.
        """
        if self._helps:
            return rows.takes_help(connection, self._job_id)
        if not self._told:
            return rows.renew(connection, self._job_id, self._owner)
        if seconds is not None and self._gives_way:
            seconds *= rows.seconds_per_second_of_work(connection)
        return rows.report(connection, self._job_id, self._owner, *self._progress, seconds)


def share(
    database: Database, owner: str, job_id: int, handler: Callable[[JobRow, Reporter], object]
) -> None:
    """Let ``handler`` share a job of another worker, for ``owner``, who waits for it."""
    with (
        contextlib.suppress(Cancelled, NotFound),
        Reporter(database, job_id, owner, nobody, helps=True) as reporter,
    ):
        job = database.fetch(rows.get, job_id)
        handler(job, reporter)
