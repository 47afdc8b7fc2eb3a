"""Guided tours of a knowledge base: a title and stops, which are plain data here."""

from __future__ import annotations

from collections.abc import Sequence
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
    insert,
    select,
    update,
)
from sqlalchemy import delete as delete_rows

from rag.storage.tables import base_id as owner
from rag.storage.tables import metadata

tour = Table(
    "tour",
    metadata,
    Column("id", Integer, primary_key=True),
    owner(),
    Column("title", String, nullable=False),
    Column("stops", JSON, nullable=False),
    Column("changed", DateTime(timezone=True), nullable=False),
)

_Stops = Sequence[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class TourRow:
    """A stored tour; ``stops`` are plain data."""

    id: int
    title: str
    stops: Sequence[dict[str, Any]]
    changed: datetime


def create(connection: Connection, base_id: int, title: str, stops: _Stops) -> int:
    """Store a tour; return its id."""
    values = {"base_id": base_id, "title": title, "stops": list(stops), "changed": _now()}
    created = connection.execute(insert(tour).values(values).returning(tour.c.id))
    return int(created.scalar_one())


def replace(connection: Connection, base_id: int, tour_id: int, title: str, stops: _Stops) -> bool:
    """Store another title and other stops; return False for an unknown tour."""
    values = {"title": title, "stops": list(stops), "changed": _now()}
    changed = connection.execute(update(tour).where(_is(base_id, tour_id)).values(values))
    return changed.rowcount == 1


def list_tours(connection: Connection, base_id: int) -> list[TourRow]:
    """List the tours of a knowledge base, the one changed last first."""
    order = tour.c.changed.desc(), tour.c.id.desc()
    rows = connection.execute(select(tour).where(tour.c.base_id == base_id).order_by(*order))
    return [TourRow(row.id, row.title, row.stops, row.changed) for row in rows]


def by_id(
    connection: Connection, base_id: int, tour_id: int, *, lock: bool = False
) -> TourRow | None:
    """Return a tour, or None for an unknown one; ``lock`` keeps others from changing it."""
    query = select(tour).where(_is(base_id, tour_id))
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else TourRow(row.id, row.title, row.stops, row.changed)


def delete(connection: Connection, base_id: int, tour_id: int) -> bool:
    """Delete a tour; return False for an unknown one."""
    return connection.execute(delete_rows(tour).where(_is(base_id, tour_id))).rowcount == 1


def _is(base_id: int, tour_id: int) -> Any:
    return (tour.c.base_id == base_id) & (tour.c.id == tour_id)


def _now() -> datetime:
    return datetime.now(UTC)
