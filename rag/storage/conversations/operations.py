"""Turns as operations look at them: when, how they ended, and what was counted and timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, exists, select

from rag.storage.conversations.sessions import Scope
from rag.storage.conversations.tables import conversation, turn
from rag.storage.rows import in_utc, read

MOST = 20_000
"""Newest turns that are looked at."""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn without its answer. ``question`` is None where another visitor asked it.

    ``asked`` is in UTC; ``metrics`` is {} of turns from before anything was counted.
    """

    id: int
    conversation_id: int
    question: str | None
    status: str
    mode: str
    thumb: int
    seconds: float
    metrics: Mapping[str, Any]
    asked: datetime


def since(connection: Connection, scope: Scope, first: datetime | None) -> list[TurnRow]:
    """The finished turns of a base from a moment on, oldest first, of all users.

    What others than the visitor of the scope asked is not told.
    """
    same = ("id", "conversation_id", "status", "mode", "thumb", "seconds", "metrics")
    columns = [turn.c[name] for name in same]
    statement = (
        select(
            *columns,
            case((scope.condition, turn.c.question)).label("question"),
            turn.c.created.label("asked"),
        )
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(conversation.c.base_id == scope.base_id, turn.c.status != "asked")
        .order_by(turn.c.id.desc())
        .limit(MOST)
    )
    if first is not None:
        statement = statement.where(turn.c.created >= first)
    rows = connection.execute(statement).all()
    return [read(TurnRow, row, asked=in_utc(row.asked)) for row in reversed(rows)]


def has_turns(connection: Connection, scope: Scope) -> bool:
    """Return whether a base has a finished turn of any visitor."""
    finished = (
        select(turn.c.id)
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(conversation.c.base_id == scope.base_id, turn.c.status != "asked")
    )
    return bool(connection.scalar(select(exists(finished))))
