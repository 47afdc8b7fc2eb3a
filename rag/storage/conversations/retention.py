"""Deleting what was asked and answered long ago."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Text, cast, delete, func, or_, select, update

from rag.storage.conversations.tables import bout, conversation, interaction, turn


def forget_conversations(connection: Connection, before: datetime) -> None:
    """Delete conversations in which nothing was asked since a moment, and votes from before."""
    last = (
        select(func.max(turn.c.created))
        .where(turn.c.conversation_id == conversation.c.id)
        .scalar_subquery()
    )
    connection.execute(
        delete(conversation).where(func.coalesce(last, conversation.c.created) < before)
    )
    connection.execute(delete(bout).where(bout.c.created < before))


def forget_interactions(connection: Connection, before: datetime) -> None:
    """Delete what the memory holds of turns from before a moment."""
    old = select(turn.c.id).where(turn.c.created < before)
    connection.execute(delete(interaction).where(interaction.c.turn_id.in_(old)))


def forget_traces(connection: Connection, before: datetime) -> None:
    """Delete how answers from before a moment came about."""
    empty: dict[str, Any] = {"details": {}, "metrics": {}, "sentences": [], "examples": []}
    has_traces = or_(*(cast(turn.c[name], Text) != str(none) for name, none in empty.items()))
    connection.execute(update(turn).where(turn.c.created < before, has_traces).values(**empty))
