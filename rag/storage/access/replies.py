"""Stored responses to requests with an idempotency key.

Because of them, a repeated request creates nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    Float,
    ForeignKey,
    Integer,
    String,
    Table,
    delete,
    select,
    update,
)

from rag.storage import leases
from rag.storage.rows import insert_missing, read
from rag.storage.tables import metadata

api_reply = Table(
    "api_reply",
    metadata,
    Column(
        "token_id", String(12), ForeignKey("api_token.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("key", String(255), primary_key=True),
    # What was asked: the address and what the body said.
    Column("asked", String(64), nullable=False),
    # None while the request is still being worked on.
    Column("status", Integer),
    Column("body", JSON(none_as_null=True)),
    Column("location", String, nullable=False, server_default=""),
    Column("created", Float, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as it was given; ``status`` None where it is not given yet."""

    asked: str
    status: int | None
    body: Any
    location: str


def begin(connection: Connection, token_id: str, key: str, asked: str) -> Reply | None:
    """Note that a request is worked on; else the reply to the one that had the key first."""
    values = {"token_id": token_id, "key": key, "asked": asked, "created": leases.now()}
    if insert_missing(connection, api_reply, values):
        return None
    row = connection.execute(select(api_reply).where(_of(token_id, key))).one()
    return read(Reply, row)


def finish(
    connection: Connection, token_id: str, key: str, status: int, body: Any, location: str
) -> None:
    """Keep an answer."""
    values = {"status": status, "body": body, "location": location}
    connection.execute(update(api_reply).where(_of(token_id, key)).values(**values))


def drop(connection: Connection, token_id: str, key: str) -> None:
    """Free the key of a request that made nothing."""
    connection.execute(delete(api_reply).where(_of(token_id, key)))


def forget(connection: Connection, kept_seconds: float, at_work_seconds: float) -> None:
    """Free old keys; those of requests that never ended, as their process did, sooner."""
    age = leases.now() - api_reply.c.created
    over = (age > at_work_seconds) & api_reply.c.status.is_(None)
    connection.execute(delete(api_reply).where(over | (age > kept_seconds)))


def _of(token_id: str, key: str) -> Any:
    return (api_reply.c.token_id == token_id) & (api_reply.c.key == key)
