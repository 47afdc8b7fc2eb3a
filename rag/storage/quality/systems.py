"""Systems under test by knowledge base, name and version; definitions are opaque here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    DateTime,
    Integer,
    String,
    Table,
    delete,
    func,
    insert,
    select,
)

from rag.storage import bases
from rag.storage.rows import read, values
from rag.storage.tables import base_id as owned
from rag.storage.tables import metadata

system = Table(
    "system",
    metadata,
    owned(primary=True),
    Column("name", String, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("hash", String(64), nullable=False),
    Column("definition", JSON, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
)


@dataclass(frozen=True, slots=True)
class SystemRow:
    """A version of a system."""

    name: str
    version: int
    hash: str
    definition: Mapping[str, Any]
    created: datetime


def newest(connection: Connection, base_id: int) -> list[SystemRow]:
    """The newest version of each system, by name."""
    last = (
        select(system.c.name, func.max(system.c.version).label("version"))
        .where(system.c.base_id == base_id)
        .group_by(system.c.name)
        .subquery()
    )
    same = (system.c.name == last.c.name) & (system.c.version == last.c.version)
    statement = select(system).join(last, same).where(system.c.base_id == base_id)
    rows = connection.execute(statement.order_by(system.c.name))
    return [read(SystemRow, row) for row in rows]


def add(
    connection: Connection, base_id: int, name: str, hash_: str, definition: Mapping[str, Any]
) -> SystemRow:
    """Store a version of a system, unless its newest one has the same hash; return that.

    Raises NotFound for a knowledge base that is gone.
    """
    bases.hold(connection, base_id)  # two versions that are added at once get two numbers
    before = next((row for row in newest(connection, base_id) if row.name == name), None)
    if before is not None and before.hash == hash_:
        return before
    version = before.version + 1 if before else 1
    row = SystemRow(name, version, hash_, dict(definition), datetime.now(UTC))
    connection.execute(insert(system).values(values(system, row, base_id=base_id)))
    return row


def remove(connection: Connection, base_id: int, name: str) -> bool:
    """Delete all versions of a system; return whether there was one."""
    mine = (system.c.base_id == base_id) & (system.c.name == name)
    return connection.execute(delete(system).where(mine)).rowcount > 0
