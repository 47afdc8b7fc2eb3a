"""The connection to a scheduler of Dask; nothing else here knows its client."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

import dask
from distributed import Client

PATIENCE = 5.0
"""Seconds that a scheduler has to answer."""
_DELIVERY = 60.0  # seconds for a result that is there; it is made again where its worker died

log = logging.getLogger(__name__)

T = TypeVar("T")

# Whole files are sent with their task. Data that was scattered would be lost with its worker.
dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 GB"})


class Unreachable(Exception):
    """The scheduler does not answer; the reason in a few words."""


class Connection:
    """One job's connection. When it ends, the scheduler forgets what was asked over it."""

    def __init__(self, address: str) -> None:
        """Raise Unreachable. Certificates for ``tls://`` are those of Dask's own settings."""
        try:
            self._client = Client(address, timeout=PATIENCE, set_as_default=False)
        except Exception as error:  # sockets, TLS, a server of another kind: it tells by many
            log.debug("No connection to %s", address, exc_info=True)
            raise Unreachable("does not answer") from error

    def threads(self) -> int:
        """Return the number of concurrent tasks of the workers; 0 without workers.

        Raises Unreachable.
        """
        if self._client.status != "running":
            raise Unreachable("does not answer any more")
        try:
            return sum(self._client.nthreads(callback_timeout=2 * PATIENCE).values())
        except Exception as error:
            raise Unreachable("does not answer any more") from error

    def submit(self, task: Callable[..., T], *arguments: object) -> Future[T]:
        """Have a worker do a task; one that dies is replaced by another worker."""
        remote_future = self._client.submit(task, *arguments, pure=False)
        future: Future[T] = Future()

        def deliver(done: Any) -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(done.result(timeout=_DELIVERY))
                except BaseException as error:
                    future.set_exception(error)

        future.add_done_callback(
            lambda done_future: remote_future.release() if done_future.cancelled() else None
        )
        remote_future.add_done_callback(deliver)
        return future

    def close(self) -> None:
        """Ends it; tasks that nobody has begun are not done any more."""
        try:
            self._client.close(timeout=PATIENCE)
        except Exception:
            log.debug("The connection did not end in time.", exc_info=True)
