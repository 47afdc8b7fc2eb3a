"""HTTP tools by name; what a definition means is not known here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, Column, Connection, DateTime, String, Table, delete, select

from rag.storage.rows import insert_or_replace
from rag.storage.tables import metadata

tool = Table(
    "tool",
    metadata,
    Column("name", String, primary_key=True),
    Column("definition", JSON, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
)


def list_tools(connection: Connection) -> dict[str, dict[str, Any]]:
    """All definitions by name, in the order of names."""
    rows = connection.execute(select(tool.c.name, tool.c.definition).order_by(tool.c.name))
    return {row.name: dict(row.definition) for row in rows}


def save(connection: Connection, name: str, definition: Mapping[str, Any]) -> None:
    """Store a tool, in place of the one of that name."""
    values = {"name": name, "definition": dict(definition), "created": datetime.now(UTC)}
    insert_or_replace(connection, tool, values)


def remove(connection: Connection, name: str) -> bool:
    """Whether there was one to delete."""
    return connection.execute(delete(tool).where(tool.c.name == name)).rowcount > 0
