"""Errors of the database and its driver as those of the program, and the connection pool."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from sqlalchemy import exc
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from rag.errors import ConnectionLost, DatabaseBusy, DiskFull, InvalidInput, NotFound, StorageError
from rag.input_rules import find_fault

TYPE_AGAIN = "Type it again, or leave it out."
# Of a row that belongs to one that is not there any more.
_ORPHAN = ("23503", "SQLITE_CONSTRAINT_FOREIGNKEY")
_WRITES = "Another process is writing. Try again in a moment."
_LOCKED = f"{_WRITES} If it goes on, an administrator can raise lock_timeout for the role."
_TOO_LONG = (
    "Try again in a moment. If it goes on, an administrator can raise statement_timeout for the "
    "role of the URL."
)
_BUSY = {
    **dict.fromkeys(("SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED"), _WRITES),
    "40001": _WRITES,  # could not serialize access
    "40P01": _WRITES,  # deadlock detected
    "55P03": _LOCKED,  # lock_timeout
    "57014": _TOO_LONG,  # statement_timeout
    "25P03": _TOO_LONG,  # idle_in_transaction_session_timeout
    "25P04": _TOO_LONG,  # transaction_timeout
}
"""Hints about errors of a server that answers, by code: the same again may succeed."""
_FULL = (
    "Try again in a moment. If it goes on, lower TOUCHSTONE_DATABASE_POOL, or let an administrator "
    "raise max_connections."
)
_NO_ROOM = frozenset(["SQLITE_FULL", "SQLITE_IOERR_SHMSIZE", "53100"])
_POOL_IN_USE = "Try again in a moment. If it goes on, raise TOUCHSTONE_DATABASE_POOL."


@contextmanager
def translate_errors() -> Iterator[None]:
    """Raise StorageError, InvalidInput or NotFound for what the database says in the block."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{find_fault(chr(0xD800))}.", TYPE_AGAIN) from error
    except DBAPIError as error:
        if _code(error) in _ORPHAN:
            raise NotFound(
                "What this belongs to no longer exists.", "Someone deleted it in the meantime."
            ) from error
        detail = " ".join(str(error.orig).split()).rstrip(" .")
        if _code(error) in _BUSY:
            raise DatabaseBusy(f"The database said: {detail}.", _BUSY[_code(error)]) from error
        if says_full(detail):
            raise DatabaseBusy("The database takes no more connections.", _FULL) from error
        if _code(error) in _NO_ROOM:
            hint = "Free some space. What was stored is safe, and waiting jobs go on by themselves."
            raise DiskFull(f"The disk is full. The database said: {detail}.", hint) from error
        kind = ConnectionLost if _is_away(error) else StorageError
        raise kind(f"The database said: {detail}.", _hint(detail)) from error
    except exc.TimeoutError as error:
        raise DatabaseBusy("All connections of this process are in use.", _POOL_IN_USE) from error
    except SQLAlchemyError as error:
        raise StorageError(f"The database failed: {error}.") from error


def _code(error: DBAPIError) -> str:
    """The SQLSTATE of PostgreSQL's error, or the name of SQLite's; "" for none."""
    orig = error.orig
    return getattr(orig, "sqlstate", None) or getattr(orig, "sqlite_errorname", None) or ""


def _is_away(error: DBAPIError) -> bool:
    """Whether a server has ended the connection, or takes none.

    Drivers have no ``sqlstate`` for a server that says nothing, and SQLite, a file, has none ever.
    """
    silent = isinstance(error, OperationalError) and getattr(error.orig, "sqlstate", "") is None
    return error.connection_invalidated or silent


def _hint(message: str) -> str:
    if "disk I/O" in message:
        return "The disk may be full or damaged. Free some space and try again."
    if "unable to open" in message:
        return (
            "Check that the folder exists and may be written to (TOUCHSTONE_HOME), and that the "
            "process may open more files (ulimit -n)."
        )
    if "readonly" in message:
        return "Check that the folder exists and may be written to (TOUCHSTONE_HOME)."
    if message.startswith("connection ") or "getaddrinfo" in message or "resolve host" in message:
        return "Check TOUCHSTONE_DATABASE_URL, and that the server is up."
    if "extension" in message:
        return "An administrator of the database has to run CREATE EXTENSION vector."
    if message.startswith("permission denied"):
        return "An administrator of the database has to GRANT that to the role of the URL."
    return ""


SECONDS_OF_A_REQUEST = 2.0
SECONDS_OF_A_JOB = 60.0
_SECONDS_FULL = 0.25  # until a server that was full is asked for another connection
_POLL_SECONDS = 0.01

# SQLAlchemy logs under the name of this module, whatever a pool does.
logging.getLogger(__name__).setLevel(logging.WARNING)

_seconds: ContextVar[float] = ContextVar("_seconds", default=SECONDS_OF_A_REQUEST)

# PostgreSQL's words for its limits: a failed connection has no SQLSTATE in the driver. PgBouncer's
# own limits are the last two.
_FULL_SERVER = (
    "too many clients",
    "too many connections",
    "remaining connection slots",
    "no more connections allowed",
    "query_wait_timeout",
)


def says_full(message: str) -> bool:
    """Whether a server refused a connection because it has as many as it takes."""
    return any(words in message for words in _FULL_SERVER)


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
