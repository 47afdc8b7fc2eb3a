"""Durable background jobs: one worker thread per process, progress, cancel, and resume.

A job lives in the database. Its worker holds a lease that it renews; when a process dies, the
lease runs out, and the next process (or the same one, restarted) takes the job up where the items
that are done leave off. In the same way a job gives way, between two items, to a job of another
knowledge base that waits: it goes back to the queue, and bases take turns there.

A large job has a process of its own: those who look at pages do not wait for its turns. The other
end of the agreement is ``rag.workspace.workspace.do_job``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import math
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

from rag import telemetry
from rag.errors import (
    Cancelled,
    ConnectionLost,
    DatabaseBusy,
    DiskFull,
    InvalidInput,
    StorageError,
    TouchstoneError,
)
from rag.services.jobs.job import Job, T
from rag.services.jobs.reporter import (
    ATTENDED_SECONDS,
    HEARTBEAT_SECONDS,
    Reporter,
    TurnOver,
    Watch,
    nobody,
)
from rag.storage import Connection, Database, bases, leases, patient
from rag.storage import jobs as rows
from rag.storage.jobs import JobItem, JobRow, JobStatus

log = logging.getLogger(__name__)

_POLL_SECONDS = 2.0
_AGAIN_SECONDS = 30.0  # after it found nothing more to share of a job
_LONGEST_PAUSE = 60.0
_STOP_SECONDS = 4.0  # for a process to end by itself after its job was cancelled
_ATTENDS_SECONDS = 10.0  # how often a worker says that it lives
_TIDIES_SECONDS = 3600.0
_STAYS = "Finished work is kept."
_SECONDS_TO_ROOM = 15.0  # until a full disk is tried again
_PAUSES = (1.0, 2.0, 4.0, 8.0, 16.0, *[30.0] * 8)
"""Seconds that a job waits for a busy database, each time that it got no further: 4.5 minutes."""
_WORKER = "worker"  # what workers have a lease on

Handler = Callable[[JobRow, "Reporter"], str]
"""Does a job and returns a closing message; runs again from the start when a process died."""

LaunchProcess = Callable[[JobRow, str], subprocess.Popen[bytes] | None]
"""Starts a process that does a job of an owner, see ``work_for``; None for one to be done here."""


class Jobs:
    """The jobs of all knowledge bases, and this process's worker."""

    def __init__(
        self,
        database: Database,
        handler: Callable[[str], Handler | None],
        tidy: Callable[[], object] = lambda: None,
        apart: LaunchProcess = lambda _job, _owner: None,
        shared: LaunchProcess = lambda _job, _owner: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``handler`` returns what does the jobs of a kind; None for an unknown kind.

        ``tidy`` is called after every job, when the worker starts, and every hour.

        The worker lets ``apart`` start a process for a job that would be in the way of others, and,
        when it has nothing to do, ``shared`` one that shares the job of another worker. Jobs that
        it does, rather than ``run``, take turns by ``clock``.
        """
        self._clock = clock
        self._shared = shared
        self._helped: dict[int, float] = {}  # jobs of others, and when it helped with them
        self._database = database
        self._handler = handler
        self._tidy = tidy
        self._apart = apart
        self._owner = f"{machine()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
        self._wake = threading.Event()
        self._closing = False
        self._reporter: Reporter | None = None
        self._thread: threading.Thread | None = None
        self._left: dict[int, int] = {}  # items of a job whose process ended before it

    def submit(
        self,
        base_id: int,
        title: str,
        job: Job[Any],
        items: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> int:
        """Store a job; once this returns, it will be done even if the process dies."""
        job_id = self._database.execute(job.queue, base_id, title, items)
        self.wake()
        return job_id

    def wake(self) -> None:
        """Have the worker look at once for a job that was stored without ``submit``."""
        self._wake.set()

    def submit_once(self, base_id: int, title: str, job: Job[Any]) -> int:
        """Store a job, unless one ``about`` the same waits or works already: then return that."""
        with self._database.write() as connection:
            bases.hold(connection, base_id)  # two who ask at the same moment do so in turn
            latest = rows.latest(connection, base_id, job.kind, job.about)
            if latest is not None and latest.active and not latest.cancel:
                return latest.id
            job_id = job.queue(connection, base_id, title)
        self.wake()
        return job_id

    def latest(self, base_id: int, kind: type[Job[Any]], **about: str) -> JobRow | None:
        """Return the newest job of a kind that was submitted once, ``about`` these things."""
        return self._database.fetch(rows.latest, base_id, kind.kind, about)

    def result(self, base_id: int, kind: type[Job[T]], **about: str) -> T | None:
        """Return the result of the newest finished job of a kind, ``about`` these things.

        None where there is none, or where it is an earlier version's that this one cannot read.
        """
        with self._database.read() as connection:
            done = rows.latest(connection, base_id, kind.kind, about, done=True)
            stored = None if done is None else rows.result(connection, done.id)
        return None if stored is None else kind.load_result(stored)

    def get(self, job_id: int) -> JobRow:
        """One job. Raises NotFound."""
        return self._database.fetch(rows.get, job_id)

    def items(self, job_id: int) -> list[JobItem]:
        """Return the outcome of each item of a job."""
        return self._database.fetch(rows.items, job_id)

    def recent(self, base_id: int | None = None, limit: int = 20) -> list[JobRow]:
        """Jobs, newest first."""
        return self._database.fetch(rows.recent, base_id, limit)

    def active(self, base_id: int | None = None) -> list[JobRow]:
        """Jobs that wait or work, oldest first, of one knowledge base or of all."""
        return self._database.fetch(rows.active, base_id)

    def failed(self) -> dict[str, int]:
        """Count the failed jobs by kind."""
        return self._database.fetch(rows.count_failed)

    def attended(self) -> bool:
        """Whether a worker lives, here or in another process: without one, jobs wait for ever."""
        return bool(self._database.fetch(leases.holders, _WORKER, ATTENDED_SECONDS))

    def cancel(self, job_id: int) -> None:
        """Ask a job to stop; what it has finished stays."""
        self._database.execute(rows.cancel, job_id)
        self._tidy()

    def start(self) -> None:
        """Start the worker thread, once; it also takes up what dead processes left."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="jobs", daemon=True)
            self._thread.start()

    def run(self, job_id: int, watch: Watch = nobody) -> JobRow:
        """Do one job in this thread, or wait until the process that has it is done."""
        while (job := self.get(job_id)).active:
            self._database.execute(self._adopt_orphans)
            if not self._run_next(job_id, watch):
                watch(job.done, job.total, job.message)
                time.sleep(HEARTBEAT_SECONDS)
        return job

    def take_up(self, base_id: int, kind: str, watch: Watch = nobody) -> None:
        """Do the jobs of a kind that processes left when they died, unless a worker will."""
        self._database.execute(self._adopt_orphans)
        if not self.attended():
            for job in reversed(self.recent(base_id)):
                if job.active and job.kind == kind:
                    self._run_next(job.id, watch)

    def close(self) -> None:
        """Stop the worker; its job goes back to the queue."""
        self._closing = True
        self._wake.set()
        if self._reporter is not None:
            self._reporter.stop()
        if self._thread is not None:
            self._thread.join(timeout=10)
        if self._database.read_only:
            return
        with self._database.write() as connection:
            rows.release(connection, self._owner)
            leases.release(connection, self._owner)

    def _work(self) -> None:
        """Run jobs until the runner closes.

        The worker continues after every error, such as an unreachable database.
        """
        with patient():
            pause, attended, tidied = _POLL_SECONDS, -math.inf, -math.inf
            while not self._closing:
                self._wake.clear()
                try:
                    if time.monotonic() - attended > _ATTENDS_SECONDS:
                        with self._database.write() as connection:
                            leases.release(connection, self._owner)
                            leases.take(connection, self._owner, [_WORKER], ATTENDED_SECONDS)
                            self._adopt_orphans(connection)
                        attended = time.monotonic()
                    if self._run_next(None) or self._share_job():
                        continue
                    pause = _POLL_SECONDS
                    if time.monotonic() - tidied > _TIDIES_SECONDS:
                        tidied = time.monotonic()
                        self._tidy()
                except Exception:
                    log.exception("The worker could not reach its jobs; it tries again.")
                    pause = min(2 * pause, _LONGEST_PAUSE)
                self._wake.wait(pause)

    def _adopt_orphans(self, connection: Connection) -> None:
        """Free jobs of processes of this machine that are gone, without waiting for a lease."""
        workers = leases.holders(connection, _WORKER, ATTENDED_SECONDS)
        for owner in {*rows.owners(connection), *workers}:
            name, pid, _ = owner.rsplit(":", 2)
            if name == machine() and owner != self._owner and not _alive(int(pid)):
                rows.bury(connection, owner)
                leases.release(connection, owner)

    def work_for(self, owner: str, job_id: int) -> None:
        """Do a job that another process has claimed as ``owner``, and wait for."""
        self._perform(job_id, owner, nobody, self._clock)

    def _run_next(self, job_id: int | None, watch: Watch = nobody) -> bool:
        if not self._database.fetch(rows.any_active):
            return False
        claimed = self._database.execute(rows.claim, self._owner, job_id)
        if claimed is None:
            return False
        # Who asks for one job waits for it, and nobody else shares the process.
        process = self._apart(self.get(claimed), self._owner) if job_id is None else None
        if process is None:
            self._perform(claimed, self._owner, watch, self._clock if job_id is None else None)
        else:
            self._await(process, partial(self._is_wanted, claimed), _STOP_SECONDS)
            if not self._closing:
                self._left_by(process.returncode, claimed)
        if not self._closing:
            self._tidy()
        return True

    def _perform(
        self, job_id: int, owner: str, watch: Watch, clock: Callable[[], float] | None
    ) -> None:
        try:
            with (
                patient(),
                telemetry.spanning("job", {"job": job_id}) as span,
                Reporter(self._database, job_id, owner, watch, clock) as reporter,
            ):
                self._reporter = reporter
                job = self.get(job_id)
                status, message = self._patient_outcome(job, reporter)
                if telemetry.is_followed():
                    span.labels |= self._telemetry(job, status, reporter)
        except BaseException:  # the process has to end: others need not wait for the lease
            with contextlib.suppress(StorageError), self._database.write() as connection:
                rows.give_back(connection, job_id, owner)
            raise
        self._reporter = None
        if status == "queued":
            done, total, _ = reporter.progress
            self._database.execute(rows.give_way, job_id, owner, done, total, reporter.result)
        elif not (self._closing and status == "cancelled"):
            if status == "failed":
                log.error("Job %s (%s) failed: %s", job_id, job.kind, message)
            self._database.execute(rows.finish, job_id, owner, status, message, reporter.result)

    def _share_job(self) -> bool:
        """Let a process share the job of another worker; return whether there was one."""
        for job in self._database.fetch(rows.to_help, self._owner):
            if time.monotonic() - self._helped.get(job.id, -math.inf) < _AGAIN_SECONDS:
                continue
            process = self._shared(job, self._owner)
            if process is not None:
                takes_help = partial(self._database.fetch, rows.takes_help, job.id)
                self._await(process, takes_help, _AGAIN_SECONDS)
                self._helped[job.id] = time.monotonic()
                return True
        return False

    def _await(
        self, process: subprocess.Popen[bytes], is_wanted: Callable[[], bool], patience: float
    ) -> None:
        """Wait for a process, and end one that was not wanted for so many seconds."""
        last_wanted = time.monotonic()
        with process:
            try:
                while process.poll() is None and not self._closing:
                    with contextlib.suppress(StorageError):
                        if is_wanted():
                            last_wanted = time.monotonic()
                    if time.monotonic() - last_wanted > patience:
                        break
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(_POLL_SECONDS)
            finally:
                process.kill()  # as good as any end: what is finished is stored

    def _is_wanted(self, job_id: int) -> bool:
        """Renew the lease on a job for its process; False if it was cancelled or taken away."""
        try:  # it may be long in starting
            return self._database.execute(rows.renew, job_id, self._owner)
        except StorageError:  # while it stores much at once, others cannot write
            with self._database.read() as connection:
                wanted = self._owner in rows.owners(connection)
                return wanted and not rows.get(connection, job_id).cancel

    def _left_by(self, code: int, job_id: int) -> None:
        """A job whose process was ended is done again, until one brings it no further.

        One that its process finished, or handed back, is not this worker's any more.
        """
        with self._database.write() as connection:
            if not rows.holds(connection, job_id, self._owner):
                return
            if rows.get(connection, job_id).cancel:
                rows.finish(connection, job_id, self._owner, "cancelled", f"Stopped. {_STAYS}")
            elif code != BUSY and self._stands_still(connection, job_id):
                message = f"The process of the job ended ({code}). {_STAYS}"
                log.error("Job %s failed: %s", job_id, message)
                rows.finish(connection, job_id, self._owner, "failed", message)
            else:
                rows.give_back(connection, job_id, self._owner)

    def _stands_still(self, connection: Connection, job_id: int) -> bool:
        """Whether a job that is left unfinished was brought no further since the last time."""
        waiting = _waiting(connection, job_id)
        still = job_id in self._left and waiting >= self._left[job_id]
        self._left[job_id] = waiting
        return still

    def _telemetry(self, job: JobRow, status: JobStatus, reporter: Reporter) -> dict[str, Any]:
        """Return the telemetry of a completed job: its units, and its items by outcome."""
        last_done, total, _ = reporter.progress
        done = total if status == "done" else last_done
        items = Counter(item.status for item in self.items(job.id))
        about = {"kind": job.kind, "base": job.base_id, "status": status}
        return {**about, "done": done, "total": total, "items": items}

    def _patient_outcome(self, job: JobRow, reporter: Reporter) -> tuple[JobStatus, str]:
        """Do a job, again and again where the database is busy; give up if it gets no further.

        Where the disk is full, wait for room.
        """
        least, pauses = math.inf, iter(_PAUSES)
        while True:
            try:
                waiting = self._database.fetch(_waiting, job.id)
                if waiting < least:
                    least, pauses = waiting, iter(_PAUSES)
                return self._outcome(job, reporter)
            except DatabaseBusy as error:
                pause = next(pauses, None)
                if pause is None:
                    return "failed", f"{error.message} {error.hint}".strip()
                log.warning("Job %s waits %s s: %s", job.id, pause, error.message)
            except DiskFull as error:
                pause = _SECONDS_TO_ROOM
                log.warning("Job %s waits %s s: %s", job.id, pause, error.message)
            if reporter.stopped_within(pause):
                return "cancelled", f"Stopped. {_STAYS}"

    def _outcome(self, job: JobRow, reporter: Reporter) -> tuple[JobStatus, str]:
        """Do a job once. Raises ConnectionLost where it can be done again."""
        try:
            handler = self._handler(job.kind)
            if handler is None:
                raise InvalidInput(
                    f"This version has no jobs of the kind {job.kind!r}.",
                    "The changelog says what does its work now.",
                )
            return "done", handler(job, reporter)
        except Cancelled:
            return "cancelled", f"Stopped. {_STAYS}"
        except TurnOver:
            return "queued", ""
        except (DatabaseBusy, DiskFull):
            raise
        except TouchstoneError as error:
            lost = isinstance(error, ConnectionLost)
            if lost and not self._database.fetch(self._stands_still, job.id):
                raise  # the next process continues it
            return "failed", f"{error.message} {error.hint}".strip()
        except Exception:
            identity = uuid.uuid4().hex[:8]
            log.exception("Job %s failed unexpectedly, id %s.", job.id, identity)
            return "failed", f"Unexpected error, id {identity}; the log has the details."


def _waiting(connection: Connection, job_id: int) -> int:
    return sum(item.status == "waiting" for item in rows.items(connection, job_id))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


BUSY = 75
"""The exit status of a process that ends because the database is busy (EX_TEMPFAIL)."""
_ENTRY = (
    "import sys; sys.path.insert(0, sys.argv[1]); import rag.workspace.workspace as w; w.do_job()"
)
_PROJECT = str(Path(__file__).parents[3])


@cache
def machine() -> str:
    """Name those whose process ids are those of this process, as far as that can be told.

    Containers on the network of their host have its name, and copies of a machine have one name,
    but not its processes.
    """
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts += [Path("/proc/sys/kernel/random/boot_id").read_text().strip()]
        parts += [str(Path("/proc/self/ns/pid").readlink())]
    return "/".join(parts)


def start(request: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    """Start a process that reads its task as JSON; it ends when this one does."""
    command = [sys.executable, "-c", _ENTRY, _PROJECT]
    process = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert process.stdin
    with contextlib.suppress(OSError):  # it ended at once, which is seen by who waits for it
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    return process


def read_task(stream: BinaryIO) -> dict[str, Any]:
    """Return the task of this process. From now on the process ends when ``stream`` ends."""
    request: dict[str, Any] = json.loads(stream.readline())
    threading.Thread(target=_end_with, args=(stream,), daemon=True).start()
    return request


def _end_with(stream: BinaryIO) -> None:
    while os.read(stream.fileno(), 1):  # not by the stream: it could not be closed meanwhile
        pass
    os._exit(1)  # its parent has ended; finished work is stored
