"""Looks of the drift watch at a question set; reports and states are opaque here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Connection,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    insert,
    select,
)

from rag.storage.rows import read, values
from rag.storage.tables import metadata

watch_look = Table(
    "watch_look",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("set_id", Integer, ForeignKey("question_set.id", ondelete="CASCADE"), nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("is_reference", Boolean, nullable=False),
    Column("report", JSON, nullable=False),
    # What later looks are compared with; {} of looks that are no reference.
    Column("state", JSON, nullable=False),
    Index(None, "set_id", "created"),
)


@dataclass(frozen=True, slots=True)
class WatchLookRow:
    """A look; ``state`` is empty unless it is a reference."""

    id: str
    created: datetime
    is_reference: bool
    report: Mapping[str, Any]
    state: Mapping[str, Any]


def add(connection: Connection, set_id: int, row: WatchLookRow) -> None:
    """Store a look."""
    connection.execute(insert(watch_look).values(values(watch_look, row, set_id=set_id)))


def find(connection: Connection, look_id: str) -> WatchLookRow | None:
    """A look by its id, or None."""
    row = connection.execute(select(watch_look).where(watch_look.c.id == look_id)).first()
    return None if row is None else read(WatchLookRow, row)


def newest(connection: Connection, set_id: int, limit: int) -> list[WatchLookRow]:
    """The looks at a set, newest first."""
    mine = select(watch_look).where(watch_look.c.set_id == set_id)
    rows = connection.execute(mine.order_by(watch_look.c.created.desc()).limit(limit))
    return [read(WatchLookRow, row) for row in rows]


def reference(connection: Connection, set_id: int) -> WatchLookRow | None:
    """The look that the next one is compared with, or None before the first."""
    mine = (watch_look.c.set_id == set_id) & watch_look.c.is_reference
    statement = select(watch_look).where(mine).order_by(watch_look.c.created.desc()).limit(1)
    row = connection.execute(statement).first()
    return None if row is None else read(WatchLookRow, row)
