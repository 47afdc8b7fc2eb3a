"""Work on many rows in transactions so short that no other writer waits long."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from rag.storage.database import Database

_SECONDS = 0.1  # of a transaction; SQLite lets a process that waits look as often
_MOST_ROWS = 1 << 16
_FIRST_ROWS = 16  # of which each may have a megabyte of text


class Portions:
    """Transactions of about 0.1 s, and the number of rows for the next one."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.rows = _FIRST_ROWS
        self.pause = 0.0
        """Seconds in which others shall have their turn before the next transaction."""
        self._started = 0.0

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction for ``rows`` rows. Raises StorageError."""
        with self._database.write() as connection:
            self._started = time.perf_counter()  # waiting for others is no work
            yield connection
        seconds = time.perf_counter() - self._started
        self.rows = max(1, min(2 * self.rows, int(self.rows * _SECONDS / seconds), _MOST_ROWS))
        self.pause = max(seconds, _SECONDS) if seconds > _SECONDS / 4 else seconds

    def is_full(self) -> bool:
        """Whether the transaction has taken its time: for work that is not counted in rows."""
        return time.perf_counter() - self._started > _SECONDS
