"""Calls of tools by agents: who called what, why, and what it took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    func,
    insert,
    select,
)

from rag.storage.rows import in_utc, read, values
from rag.storage.tables import metadata

agent_call = Table(
    "agent_call",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False),
    # The token, or "" for who started the server beside the home.
    Column("token_id", String(12), nullable=False, server_default=""),
    Column("agent", String, nullable=False),
    # What a token spent stays spent when the knowledge base goes.
    Column("base_id", Integer, ForeignKey("knowledge_base.id", ondelete="SET NULL")),
    Column("tool", String, nullable=False),
    Column("arguments", JSON, nullable=False),
    Column("reason", String, nullable=False, server_default=""),
    Column("outcome", String, nullable=False, server_default=""),
    Column("seconds", Float, nullable=False),
    Column("money", Float, nullable=False, server_default="0"),
    Index(None, "base_id", "at"),
    Index(None, "token_id"),
)


@dataclass(frozen=True, slots=True)
class AgentCall:
    """A call. ``agent`` is the name of its token, ``reason`` why it was made, ``outcome`` the
    sentence that answered it, or the error. ``money`` is in the currency of the price list.
    """

    at: datetime
    token_id: str
    agent: str
    base_id: int | None
    tool: str
    arguments: Mapping[str, Any]
    reason: str
    outcome: str
    seconds: float
    money: float = 0.0


def add(connection: Connection, call: AgentCall) -> None:
    """Store a call."""
    connection.execute(insert(agent_call).values(values(agent_call, call)))


def of_base(connection: Connection, base_id: int, limit: int) -> list[AgentCall]:
    """Return the calls about a knowledge base, newest first."""
    statement = select(agent_call).where(agent_call.c.base_id == base_id)
    newest = statement.order_by(agent_call.c.id.desc()).limit(limit)
    return [read(AgentCall, row, at=in_utc(row.at)) for row in connection.execute(newest)]


def spent(connection: Connection, token_id: str) -> dict[str, float]:
    """Return what the calls of a token came to: ``calls``, ``minutes``, ``money``."""
    sums = (func.count(), func.sum(agent_call.c.seconds), func.sum(agent_call.c.money))
    row = connection.execute(select(*sums).where(agent_call.c.token_id == token_id)).one()
    return {"calls": row[0], "minutes": (row[1] or 0.0) / 60, "money": row[2] or 0.0}
