"""Use of a cluster by a job, with local work as the fallback."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future, wait
from importlib.util import find_spec
from typing import TYPE_CHECKING, Self, TypeVar

from rag.errors import Cancelled, MissingDependency, TouchstoneError

if TYPE_CHECKING:
    from rag.cluster.connection import Connection

log = logging.getLogger(__name__)

_POLL = 0.25
_WITHOUT_WORKERS = 20.0  # seconds; one that died is started again by its nanny

T = TypeVar("T")


def require(address: str | None) -> None:
    """Nothing where no cluster is named, or what it needs is here. Raises MissingDependency."""
    if address and find_spec("distributed") is None:
        raise MissingDependency(
            "A cluster needs the package distributed, which is not installed.",
            "Run: pip install -r requirements-cluster.txt, or unset TOUCHSTONE_CLUSTER.",
        )


class Cluster:
    """The cluster of one job, for as long as the block lasts; without an address there is none.

    Safe to share between the threads of the job.
    """

    def __init__(self, address: str | None, cancelled: Callable[[], bool]) -> None:
        """``cancelled`` is asked several times a second while the job waits for workers."""
        self._address = address
        self._cancelled = cancelled
        self._connection: Connection | None = None
        self._threads = 0
        self._without: float | None = None  # since when there is no worker
        self._why = ""

    def __enter__(self) -> Self:
        if self._address:
            from rag.cluster.connection import Connection, Unreachable

            try:
                self._connection = Connection(self._address)
            except Unreachable as error:
                self._leave(str(error))
            else:
                self._look()
        return self

    def __exit__(self, *_: object) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    @property
    def there(self) -> bool:
        """Whether there is something to send work to."""
        return self._connection is not None

    @property
    def breadth(self) -> int:
        """The number of concurrent tasks, 1 without a cluster."""
        return max(self._threads, 1)

    def note(self) -> str:
        """Return a note for the outcome of a job that ran without its configured cluster."""
        if not self._why:
            return ""
        return f"; done on this computer alone: the cluster at {self._address} {self._why}"

    def submit(self, task: Callable[..., T], *arguments: object) -> Future[T] | None:
        """Have a worker do a task; None where there is no cluster any more."""
        connection = self._connection
        if connection is None:
            return None
        try:
            return connection.submit(task, *arguments)
        except Exception as error:
            log.debug("Nothing could be sent.", exc_info=True)
            self._leave(f"takes nothing: {error}")
            return None

    def result(
        self, future: Future[T] | None, cancelled: Callable[[], bool] | None = None
    ) -> T | None:
        """Return the result of a task; None if this process has to do the work.

        Raises the intended errors of the task, and Cancelled.
        """
        given_up = cancelled or self._cancelled
        while future and self.there and not wait([future], _POLL).done:
            if given_up():
                future.cancel()
                raise Cancelled("Stopped.")
            self._look()
        if future is None or not future.done():
            return None
        try:
            return future.result()
        except TouchstoneError:
            raise
        except CancelledError:  # with the connection
            self._look()
        except Exception as error:  # such as a task that ended one worker after the other
            log.warning("What the cluster could not do is done here: %s", error)
        return None

    def _look(self) -> None:
        """Notes how many workers there are, and leaves a cluster that cannot go on."""
        from rag.cluster.connection import Unreachable

        connection = self._connection
        if connection is None:
            return
        try:
            self._threads = connection.threads()
        except Unreachable as error:
            self._leave(str(error))
            return
        now = time.monotonic()
        if self._threads:
            self._without = None
        elif self._without is None:
            self._without = now
        elif now - self._without > _WITHOUT_WORKERS:
            self._leave("has no workers")

    def _leave(self, why: str) -> None:
        self._why = why
        log.warning(
            "The cluster at %s %s: this process reads and embeds alone. Check TOUCHSTONE_CLUSTER, "
            "the scheduler and its workers.",
            self._address,
            why,
        )
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
