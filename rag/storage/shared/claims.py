"""Pieces of one job that several workers share: each is done by the one that claims it.

On a server, claims are advisory locks of PostgreSQL. They belong to a connection and end with it,
so a worker that dies leaves nothing behind. In SQLite a job is done by one worker alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Sequence
from typing import Self

from sqlalchemy import BigInteger, Connection, String, bindparam, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import SQLAlchemyError

from rag.storage.database import Database
from rag.storage.shared.database_errors import translate_errors

# A machine that is cut off is noticed within half a minute, not within hours.
_KEPT_ALIVE = """
SELECT set_config('tcp_keepalives_idle', '10', false),
       set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false)
"""
_PATIENCE = 300.0  # seconds; a worker that stands still keeps its claims as long as it lives
_TAKE = text(
    "SELECT name FROM unnest(:names, :numbers) AS piece(name, number) "
    "WHERE pg_try_advisory_lock(number)"
).bindparams(bindparam("names", type_=ARRAY(String)), bindparam("numbers", type_=ARRAY(BigInteger)))
_LEAVE = text(
    "SELECT count(pg_advisory_unlock(number)) FROM unnest(:numbers) AS number"
).bindparams(bindparam("numbers", type_=ARRAY(BigInteger)))


class Claims:
    """The claims of a worker on pieces of work, valid until the block ends.

    Only one thread may use an instance.
    """

    def __init__(self, database: Database) -> None:
        self.shared = database.dialect == "postgresql"
        """Whether there can be others who claim."""
        self._database = database
        self._connection: Connection | None = None
        self._held: dict[str, int] = {}
        self._refused: dict[str, float] = {}  # pieces of others, and since when they are

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.clear()
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):  # which let go of everything already
                self._connection.execute(text("SELECT pg_advisory_unlock_all()"))
            with contextlib.suppress(SQLAlchemyError):
                self._connection.close()

    def take(self, names: Sequence[str]) -> set[str]:
        """Claim pieces by name; return those that nobody else has. Raises StorageError.

        What somebody else has had for minutes is returned too: that worker stands still, and what
        it does after all is stored once.
        """
        if not self.shared:
            return set(names)
        now = time.monotonic()
        numbers = {name: _number(name) for name in names if name not in self._held}
        if numbers:
            parameters = {"names": list(numbers), "numbers": list(numbers.values())}
            with translate_errors():
                free = set(self._open().execute(_TAKE, parameters).scalars())
            for name, number in numbers.items():
                if name in free:
                    self._held[name] = number
                    self._refused.pop(name, None)
                else:
                    self._refused.setdefault(name, now)
        return {
            name for name in names if name in self._held or now - self._refused[name] > _PATIENCE
        }

    def leave(self, names: Sequence[str]) -> None:
        """Let others claim pieces again. Raises StorageError."""
        numbers = [self._held.pop(name) for name in names if name in self._held]
        if numbers:
            with translate_errors():
                self._open().execute(_LEAVE, {"numbers": numbers})

    def _open(self) -> Connection:
        if self._connection is None:
            autocommit = self._database.engine.execution_options(isolation_level="AUTOCOMMIT")
            connection = autocommit.connect()
            connection.detach()  # closing it ends the session, and with it every claim
            connection.execute(text(_KEPT_ALIVE))
            self._connection = connection
        return self._connection


def _number(name: str) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
