"""The pool of connections to a database server, whose users wait for a connection."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import exc
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

SECONDS_OF_A_REQUEST = 2.0
SECONDS_OF_A_JOB = 60.0
_SECONDS_FULL = 0.25  # until a server that was full is asked for another connection
_POLL_SECONDS = 0.01

# SQLAlchemy logs under the name of this module, whatever a pool does.
logging.getLogger(__name__).setLevel(logging.WARNING)

_seconds: ContextVar[float] = ContextVar("_seconds", default=SECONDS_OF_A_REQUEST)

# PostgreSQL's words for its limits: a failed connection has no SQLSTATE in the driver. PgBouncer's
# own limits are the last two.
_FULL = (
    "too many clients",
    "too many connections",
    "remaining connection slots",
    "no more connections allowed",
    "query_wait_timeout",
)


def says_full(message: str) -> bool:
    """Whether a server refused a connection because it has as many as it takes."""
    return any(words in message for words in _FULL)


@contextmanager
def patient() -> Iterator[None]:
    """Let this thread wait as long for a connection as a job does, within the block."""
    token = _seconds.set(SECONDS_OF_A_JOB)
    try:
        yield
    finally:
        _seconds.reset(token)


class PatientPool(QueuePool):
    """A pool that waits for a connection of its own, or for the server to take another one."""

    _full_until = -math.inf

    def connect(self) -> PoolProxiedConnection:
        """Return a connection. Raises what SQLAlchemy or the driver says when the wait is over."""
        deadline = time.monotonic() + _seconds.get()
        while True:
            now = time.monotonic()
            # Each attempt costs a full server a process: its own connections come back sooner.
            if now >= self._full_until or self.checkedin() or now >= deadline:
                try:
                    return super().connect()
                except Exception as error:
                    is_full = says_full(str(error))
                    if is_full:
                        self._full_until = now + _SECONDS_FULL
                    if now >= deadline or not (is_full or isinstance(error, exc.TimeoutError)):
                        raise
            time.sleep(_POLL_SECONDS)
