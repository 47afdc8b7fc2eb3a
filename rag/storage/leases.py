"""Leases: the subjects that a holder has for a limited time, by the clock of the database.

The subjects are files that are being stored, and work as a worker.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Double,
    Float,
    String,
    Table,
    cast,
    delete,
    extract,
    func,
    insert,
    select,
    text,
    update,
)

from rag.storage.tables import metadata

lease = Table(
    "lease",
    metadata,
    Column("subject", String, primary_key=True),
    Column("holder", String, primary_key=True),
    Column("until", Float, nullable=False),
)


def now() -> ColumnElement[float]:
    """Seconds since 1970 by the database's clock, which all its processes share."""
    return cast(extract("epoch", func.current_timestamp()), Double)


def in_force(until: ColumnElement[float], seconds: float) -> ColumnElement[bool]:
    """Whether a lease that was given for ``seconds`` holds.

    One that ends far later than one given now was given before the clock was set back.
    """
    return until.between(now(), now() + 2 * seconds)


def lock(connection: Connection) -> None:
    """Let nobody else take or give back a lease until the transaction ends.

    SQLite has one writer at a time anyway.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE lease IN EXCLUSIVE MODE"))


def take(connection: Connection, holder: str, subjects: Collection[str], seconds: float) -> None:
    """Give subjects that it does not have yet to a holder."""
    lock(connection)
    rows = [{"holder": holder, "subject": subject} for subject in subjects]
    if rows:
        connection.execute(insert(lease).values(until=now() + seconds), rows)


def renew(connection: Connection, holder: str, seconds: float) -> None:
    """Let what a holder has begin anew."""
    mine = lease.c.holder == holder
    connection.execute(update(lease).where(mine).values(until=now() + seconds))


def holders(connection: Connection, subject: str, seconds: float) -> list[str]:
    """Return the holders of the current leases on a subject."""
    current = lease.c.subject == subject, in_force(lease.c.until, seconds)
    return list(connection.execute(select(lease.c.holder).where(*current)).scalars())


def leased_subjects(connection: Connection, holder: str, seconds: float) -> set[str]:
    """Return the subjects that a holder currently leases.

    None of these leases is taken away before the transaction ends.
    """
    lock(connection)
    mine = lease.c.holder == holder, in_force(lease.c.until, seconds)
    return set(connection.execute(select(lease.c.subject).where(*mine)).scalars())


def release(connection: Connection, holder: str) -> None:
    """Give back all that a holder has."""
    lock(connection)
    connection.execute(delete(lease).where(lease.c.holder == holder))


def drop(connection: Connection, subjects: Collection[str]) -> None:
    """Note what was released, as leases that ran out: the next clean-up checks it."""
    holder = uuid.uuid4().hex
    rows = [{"holder": holder, "subject": subject, "until": 0.0} for subject in set(subjects)]
    if rows:
        connection.execute(insert(lease), rows)


def clear(connection: Connection, seconds: float) -> list[str]:
    """Take back the leases that ran out, given for ``seconds`` at most; return on what."""
    lock(connection)
    over = delete(lease).where(~in_force(lease.c.until, seconds)).returning(lease.c.subject)
    return list(connection.execute(over).scalars())
