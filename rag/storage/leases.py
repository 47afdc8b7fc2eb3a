"""Leases: the subjects that a holder has for a limited time, and claims on pieces of a job.

The subjects are files that are being stored, and work as a worker. The clock is the database's.

A piece of a job that several workers share is done by the one that claims it. On a server, claims
are advisory locks of PostgreSQL. They belong to a connection and end with it, so a worker that dies
leaves nothing behind. In SQLite a job is done by one worker alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
import uuid
from collections.abc import Collection, Sequence
from typing import Self

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.exc import SQLAlchemyError

from rag.storage.database import Database
from rag.storage.shared.database_errors import translate_errors
from rag.storage.tables import metadata

lease = sa.Table(
    "lease",
    metadata,
    sa.Column("subject", sa.String, primary_key=True),
    sa.Column("holder", sa.String, primary_key=True),
    sa.Column("until", sa.Float, nullable=False),
)


def now() -> sa.ColumnElement[float]:
    """Seconds since 1970 by the database's clock, which all its processes share."""
    return sa.cast(sa.extract("epoch", sa.func.current_timestamp()), sa.Double)


def in_force(until: sa.ColumnElement[float], seconds: float) -> sa.ColumnElement[bool]:
    """Whether a lease that was given for ``seconds`` holds.

    One that ends far later than one given now was given before the clock was set back.
    """
    return until.between(now(), now() + 2 * seconds)


def lock(connection: sa.Connection) -> None:
    """Let nobody else take or give back a lease until the transaction ends.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("LOCK TABLE lease IN EXCLUSIVE MODE"))


def take(connection: sa.Connection, holder: str, subjects: Collection[str], seconds: float) -> None:
    """Give subjects that it does not have yet to a holder."""
    lock(connection)
    rows = [{"holder": holder, "subject": subject} for subject in subjects]
    if rows:
        connection.execute(sa.insert(lease).values(until=now() + seconds), rows)


def renew(connection: sa.Connection, holder: str, seconds: float) -> None:
    """Let what a holder has begin anew."""
    mine = lease.c.holder == holder
    connection.execute(sa.update(lease).where(mine).values(until=now() + seconds))


def holders(connection: sa.Connection, subject: str, seconds: float) -> list[str]:
    """Return the holders of the current leases on a subject."""
    current = lease.c.subject == subject, in_force(lease.c.until, seconds)
    return list(connection.execute(sa.select(lease.c.holder).where(*current)).scalars())


def leased_subjects(connection: sa.Connection, holder: str, seconds: float) -> set[str]:
    """Return the subjects that a holder currently leases.

    None of these leases is taken away before the transaction ends.
    """
    lock(connection)
    mine = lease.c.holder == holder, in_force(lease.c.until, seconds)
    return set(connection.execute(sa.select(lease.c.subject).where(*mine)).scalars())


def release(connection: sa.Connection, holder: str) -> None:
    """Give back all that a holder has."""
    lock(connection)
    connection.execute(sa.delete(lease).where(lease.c.holder == holder))


def drop(connection: sa.Connection, subjects: Collection[str]) -> None:
    """Note what was released, as leases that ran out: the next clean-up checks it."""
    holder = uuid.uuid4().hex
    rows = [{"holder": holder, "subject": subject, "until": 0.0} for subject in set(subjects)]
    if rows:
        connection.execute(sa.insert(lease), rows)


def clear(connection: sa.Connection, seconds: float) -> list[str]:
    """Take back the leases that ran out, given for ``seconds`` at most; return on what."""
    lock(connection)
    over = sa.delete(lease).where(~in_force(lease.c.until, seconds)).returning(lease.c.subject)
    return list(connection.execute(over).scalars())


# A machine that is cut off is noticed within half a minute, not within hours.
_KEPT_ALIVE = """
SELECT set_config('tcp_keepalives_idle', '10', false),
       set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false)
"""
_PATIENCE = 300.0  # seconds; a worker that stands still keeps its claims as long as it lives
_TAKE = sa.text(
    "SELECT name FROM unnest(:names, :numbers) AS piece(name, number) "
    "WHERE pg_try_advisory_lock(number)"
).bindparams(
    sa.bindparam("names", type_=ARRAY(sa.String)),
    sa.bindparam("numbers", type_=ARRAY(sa.BigInteger)),
)
_LEAVE = sa.text(
    "SELECT count(pg_advisory_unlock(number)) FROM unnest(:numbers) AS number"
).bindparams(sa.bindparam("numbers", type_=ARRAY(sa.BigInteger)))


class Claims:
    """The claims of a worker on pieces of work, valid until the block ends.

    Only one thread may use an instance.
    """

    def __init__(self, database: Database) -> None:
        self.shared = database.dialect == "postgresql"
        """Whether there can be others who claim."""
        self._database = database
        self._connection: sa.Connection | None = None
        self._held: dict[str, int] = {}
        self._refused: dict[str, float] = {}  # pieces of others, and since when they are

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._held.clear()
        if self._connection is not None:
            with contextlib.suppress(SQLAlchemyError):  # which let go of everything already
                self._connection.execute(sa.text("SELECT pg_advisory_unlock_all()"))
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

    def _open(self) -> sa.Connection:
        if self._connection is None:
            autocommit = self._database.engine.execution_options(isolation_level="AUTOCOMMIT")
            connection = autocommit.connect()
            connection.detach()  # closing it ends the session, and with it every claim
            connection.execute(sa.text(_KEPT_ALIVE))
            self._connection = connection
        return self._connection


def _number(name: str) -> int:
    """The number of an advisory lock."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)
