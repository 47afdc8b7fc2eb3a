"""Conversations in a list: whose they are, how they are called, and what they were asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    delete,
    func,
    insert,
    or_,
    select,
    true,
    update,
)

from rag.storage.conversations.tables import conversation, turn

LOCAL_KEY = ""
"""The visitor of the command line, and of conversations from before there were visitors."""


@dataclass(frozen=True, slots=True)
class SessionOwner:
    """A visitor who asks questions, identified by keys.

    New conversations belong to ``key``. The visitor sees the conversations that belong to ``keys``.

    ``keys`` None sees all conversations. It is for people who have access to the data files anyway.
    """

    key: str = LOCAL_KEY
    keys: tuple[str, ...] | None = (LOCAL_KEY,)


LOCAL = SessionOwner()
EVERYBODY = SessionOwner(keys=None)


@dataclass(frozen=True, slots=True)
class Scope:
    """The conversations that a visitor has in one knowledge base: what every query asks for."""

    base_id: int
    visitor: SessionOwner = LOCAL

    @property
    def condition(self) -> ColumnElement[bool]:
        """The SQL condition on the rows of the conversation table."""
        return self.over(conversation)

    def over(self, table: Table) -> ColumnElement[bool]:
        """Return the SQL condition on the rows of a table that stores the visitor of each row."""
        keys = self.visitor.keys
        mine = true() if keys is None else table.c.visitor.in_(keys)
        return (table.c.base_id == self.base_id) & mine

    @property
    def ids(self) -> Select[Any]:
        """The ids of the conversations, for statements about their turns."""
        return select(conversation.c.id).where(self.condition)


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation without its turns.

    ``settings`` is None where none were ever kept. ``visitor`` is "" for the local one.
    """

    id: int
    name: str
    settings: Mapping[str, Any] | None
    visitor: str
    created: datetime


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation in a list: its first question, how many there were, and when the last was."""

    id: int
    question: str
    turns: int
    asked: datetime
    name: str = ""
    visitor: str = ""

    @property
    def title(self) -> str:
        """The name of the conversation; its first question if it has no name."""
        return self.name or self.question


def create(connection: Connection, scope: Scope) -> int:
    """A new, empty conversation; returns its id."""
    new = insert(conversation).values(
        base_id=scope.base_id, visitor=scope.visitor.key, created=datetime.now(UTC)
    )
    return int(connection.execute(new.returning(conversation.c.id)).scalar_one())


def find(connection: Connection, scope: Scope, conversation_id: int) -> Conversation | None:
    """A conversation, where it is one of the scope."""
    names = ("id", "name", "settings", "visitor", "created")
    columns = [conversation.c[name] for name in names]
    statement = select(*columns).where(scope.condition, conversation.c.id == conversation_id)
    row = connection.execute(statement).first()
    return None if row is None else Conversation(*row)


def find_ids_by_name(connection: Connection, scope: Scope, name: str) -> list[int]:
    """The ids of the conversations of a name."""
    statement = select(conversation.c.id).where(scope.condition, conversation.c.name == name)
    return list(connection.execute(statement.order_by(conversation.c.id)).scalars())


def change(connection: Connection, scope: Scope, conversation_id: int, **values: Any) -> bool:
    """Store a name, settings or the head of a conversation; tell whether it is one of these."""
    statement = update(conversation).where(scope.condition, conversation.c.id == conversation_id)
    changed = connection.execute(statement.values(**values).returning(conversation.c.id))
    return changed.first() is not None


def remove(connection: Connection, scope: Scope, conversation_id: int) -> bool:
    """Delete a conversation with its turns; tell whether it was one of these."""
    statement = delete(conversation).where(scope.condition, conversation.c.id == conversation_id)
    gone = connection.execute(statement.returning(conversation.c.id))
    return gone.first() is not None


def recent(
    connection: Connection, scope: Scope, limit: int, containing: str = ""
) -> list[ConversationRow]:
    """List the sessions with a question, the last one first.

    ``containing`` keeps those with these words in their name, a question or an answer.
    """
    statement = _recent().where(scope.condition).limit(limit)
    if containing:
        with_text = select(turn.c.conversation_id).where(
            turn.c.question.icontains(containing, autoescape=True)
            | turn.c.answer.icontains(containing, autoescape=True)
        )
        named = conversation.c.name.icontains(containing, autoescape=True)
        statement = statement.where(or_(named, conversation.c.id.in_(with_text)))
    return [ConversationRow(*row) for row in connection.execute(statement)]


@cache
def _recent() -> Select[Any]:
    first, last = turn.alias(), turn.alias()
    ends = (
        select(
            turn.c.conversation_id,
            func.min(turn.c.id).label("first"),
            func.max(turn.c.id).label("last"),
            func.count().label("turns"),
        )
        .group_by(turn.c.conversation_id)
        .subquery()
    )
    owner = conversation.c
    return (
        select(owner.id, first.c.question, ends.c.turns, last.c.created, owner.name, owner.visitor)
        .join(ends, ends.c.conversation_id == owner.id)
        .join(first, first.c.id == ends.c.first)
        .join(last, last.c.id == ends.c.last)
        .order_by(ends.c.last.desc())
    )
