"""Sign-ins of browsers: whose they are, and whether they have ended."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from sqlalchemy import (
    Column,
    Connection,
    DateTime,
    ForeignKey,
    String,
    Table,
    delete,
    select,
    update,
)

from rag.storage.rows import insert_missing
from rag.storage.tables import metadata

sign_in = Table(
    "sign_in",
    metadata,
    # A digest of the cookie, so that whoever reads the database can't use it.
    Column("key", String(64), primary_key=True),
    Column("person_id", String(12), ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
    Column("at", DateTime(timezone=True), nullable=False),
    Column("ended", DateTime(timezone=True)),
)


def begin(connection: Connection, key: str, person_id: str) -> bool:
    """Store a sign-in; whether it is new."""
    values = {"key": key, "person_id": person_id, "at": datetime.now(UTC)}
    return insert_missing(connection, sign_in, values)


def end(connection: Connection, key: str) -> str | None:
    """End a sign-in; return whose it was, None where it is unknown or ended before."""
    current = (sign_in.c.key == key) & sign_in.c.ended.is_(None)
    ended = update(sign_in).where(current).values(ended=datetime.now(UTC))
    return connection.execute(ended.returning(sign_in.c.person_id)).scalar()


def list_ended(connection: Connection, keys: Collection[str]) -> set[str]:
    """Return those of some sign-ins that have ended."""
    ended = sign_in.c.key.in_(keys) & sign_in.c.ended.is_not(None)
    return set(connection.execute(select(sign_in.c.key).where(ended)).scalars())


def forget(connection: Connection, before: datetime) -> None:
    """Delete the sign-ins from before a moment."""
    connection.execute(delete(sign_in).where(sign_in.c.at < before))
