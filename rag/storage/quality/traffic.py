"""Retrievals of other systems as they were received; results are opaque here."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Connection,
    DateTime,
    Index,
    String,
    Table,
    Text,
    delete,
    func,
    insert,
    select,
)

from rag.storage import bases
from rag.storage.rows import listable, read, values
from rag.storage.tables import base_id as owned
from rag.storage.tables import metadata

received_span = Table(
    "received_span",
    metadata,
    owned(primary=True),
    Column("trace", String(32), primary_key=True),
    Column("span", String(16), primary_key=True),
    Column("system", String, nullable=False),
    Column("started", BigInteger, nullable=False),  # nanoseconds since 1970
    Column("received", DateTime(timezone=True), nullable=False),
    Column("question", Text, nullable=False),
    Column("digest", String(64), nullable=False),
    # What identifies each result, without its text; null for a request that retrieves nothing.
    Column("items", JSON(none_as_null=True), nullable=True),
    Column("results", JSON, nullable=False),
    Index("ix_received_span_received", "base_id", "received"),
    Index("ix_received_span_system", "base_id", "system", "started"),
)


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A retrieval, or the request above it, which has no ``items``.

    ``question`` is "" where text isn't stored; ``digest`` identifies it.
    """

    trace: str
    span: str
    system: str
    started: int
    received: datetime
    question: str
    digest: str
    items: Sequence[str] | None
    results: Sequence[Any]


@dataclass(frozen=True, slots=True)
class SystemCount:
    """The number of retrievals and traces of a system, and when they began, in nanoseconds."""

    system: str
    retrievals: int
    traces: int
    first: int
    last: int


def received_since(connection: Connection, base_id: int, moment: datetime) -> int:
    """Count the spans that were received since a moment."""
    mine = (received_span.c.base_id == base_id) & (received_span.c.received >= moment)
    counted = select(func.count()).select_from(received_span).where(mine)
    return int(connection.execute(counted).scalar_one())


def add(
    connection: Connection, base_id: int, rows: Sequence[SpanRow], most: int
) -> tuple[int, int]:
    """Store spans that aren't stored yet; return their number, and that of those beyond ``most``.

    Retrievals come first. A request without items is stored only beside a retrieval of its trace.
    Raises NotFound for a knowledge base that is gone.
    """
    bases.hold(connection, base_id)  # two requests with the same spans store them once
    stored = _stored(connection, base_id, {row.trace for row in rows})
    retrieved = {trace for trace, _, retrieves in stored if retrieves}
    keys = {(trace, span) for trace, span, _ in stored}
    new = {(row.trace, row.span): row for row in rows if (row.trace, row.span) not in keys}
    retrievals = [row for row in new.values() if row.items is not None]
    retrieved |= {row.trace for row in retrievals[:most]}
    tops = [row for row in new.values() if row.items is None and row.trace in retrieved]
    kept = [*retrievals, *tops][:most]
    if kept:
        connection.execute(
            insert(received_span), [values(received_span, row, base_id=base_id) for row in kept]
        )
    return len(kept), len(retrievals) + len(tops) - len(kept)


def _stored(
    connection: Connection, base_id: int, traces: Collection[str]
) -> list[tuple[str, str, bool]]:
    """Return trace and span of the stored spans of some traces, and whether each retrieves."""
    table = received_span.c
    columns = select(table.trace, table.span, table["items"].is_not(None))
    return [
        (trace, span, bool(retrieves))
        for some in listable(sorted(traces))
        for trace, span, retrieves in connection.execute(
            columns.where(table.base_id == base_id, table.trace.in_(some))
        )
    ]


def counts(connection: Connection, base_id: int) -> list[SystemCount]:
    """Count the retrievals of each system, by name."""
    table = received_span.c
    statement = (
        select(
            table.system,
            func.count().label("retrievals"),
            func.count(table.trace.distinct()).label("traces"),
            func.min(table.started).label("first"),
            func.max(table.started).label("last"),
        )
        .where(table.base_id == base_id, table["items"].is_not(None))
        .group_by(table.system)
        .order_by(table.system)
    )
    return [read(SystemCount, row) for row in connection.execute(statement)]


def newest(connection: Connection, base_id: int, system: str, most: int) -> list[SpanRow]:
    """The newest spans of a system without their results, the oldest of them first.

    With a retrieval comes the request above it, which has the question, however old that is.
    """
    table = received_span.c
    mine = select(*(column for column in table if column.name != "results")).where(
        table.base_id == base_id, table.system == system
    )
    statement = mine.order_by(table.started.desc(), table.span.desc()).limit(most)
    rows = [read(SpanRow, row, results=()) for row in connection.execute(statement)][::-1]
    if len(rows) < most:
        return rows
    cut = {row.trace for row in rows} - {row.trace for row in rows if row.items is None}
    above = mine.where(table["items"].is_(None))
    tops = [
        read(SpanRow, row, results=())
        for some in listable(sorted(cut))
        for row in connection.execute(above.where(table.trace.in_(some)))
    ]
    return sorted([*tops, *rows], key=lambda row: (row.started, row.span))


def of_traces(
    connection: Connection, base_id: int, system: str, traces: Collection[str]
) -> list[SpanRow]:
    """The spans of a system in some traces with their results, the oldest first."""
    table = received_span.c
    mine = select(received_span).where(table.base_id == base_id, table.system == system)
    rows = [
        read(SpanRow, row)
        for some in listable(sorted(traces))
        for row in connection.execute(mine.where(table.trace.in_(some)))
    ]
    return sorted(rows, key=lambda row: (row.started, row.span))


def remove(connection: Connection, base_id: int, system: str) -> int:
    """Delete the spans of a system; return their number."""
    mine = (received_span.c.base_id == base_id) & (received_span.c.system == system)
    return connection.execute(delete(received_span).where(mine)).rowcount


def forget(connection: Connection, before: datetime) -> None:
    """Delete the spans that were received before a moment: clocks of senders may be wrong."""
    moment = before.astimezone(UTC)
    connection.execute(delete(received_span).where(received_span.c.received < moment))
