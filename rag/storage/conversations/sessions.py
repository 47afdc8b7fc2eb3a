"""Conversations: their tables, their owners, their list, and their deletion after some time.

Operations read turns here: when they were, how they ended, and what was counted and timed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

import sqlalchemy as sa

from rag.storage.rows import read
from rag.storage.tables import UtcDateTime, base_id, goes_with, metadata

conversation = sa.Table(
    "conversation",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    base_id(),
    # Whose it is: a digest of the key in a browser, "" for the user of this machine.
    sa.Column("visitor", sa.String, nullable=False, server_default=""),
    sa.Column("name", sa.String, nullable=False, server_default=""),
    # In what its recipe differs from the saved one, and more; null where nobody ever kept any.
    sa.Column("settings", sa.JSON(none_as_null=True)),
    # The last turn of the branch that is shown; null for the newest turn.
    sa.Column("head", sa.Integer),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Index(None, "base_id", "visitor"),
)

turn = sa.Table(
    "turn",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("conversation_id", sa.Integer, nullable=False),
    # The turn before it; those with the same one are versions of each other.
    sa.Column("parent", sa.Integer),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("recipe", sa.JSON, nullable=False),
    sa.Column("answer", sa.Text, nullable=False, default=""),
    # "asked" until the answer ends, however it ends.
    sa.Column("status", sa.String, nullable=False),
    sa.Column("mode", sa.String, nullable=False, default=""),
    sa.Column("citations", sa.JSON, nullable=False),
    sa.Column("note", sa.Text, nullable=False, default=""),
    sa.Column("passages", sa.Integer, nullable=False, default=0),
    sa.Column("seconds", sa.Float, nullable=False, default=0.0),
    sa.Column("thumb", sa.Integer, nullable=False, default=0),
    # Why the thumb is down, what would have been right, and what a review made of it.
    sa.Column("reason", sa.String, nullable=False, server_default=""),
    sa.Column("correction", sa.Text, nullable=False, server_default=""),
    sa.Column("review", sa.String, nullable=False, server_default=""),
    # How often one of its citations was opened.
    sa.Column("clicks", sa.Integer, nullable=False, server_default="0"),
    # The knowledge bases that were searched too.
    sa.Column("also", sa.JSON, nullable=False, server_default="[]"),
    sa.Column("rewritten", sa.Text, nullable=False, server_default=""),
    # What was counted and timed; {} of turns that were asked before it was.
    sa.Column("metrics", sa.JSON, nullable=False, server_default="{}"),
    # The past interactions that stood in its prompt.
    sa.Column("examples", sa.JSON, nullable=False, server_default="[]"),
    # What each sentence of the answer was found to rest on.
    sa.Column("sentences", sa.JSON, nullable=False, server_default="[]"),
    # Decisions, budget, wording: how the answer came about.
    sa.Column("details", sa.JSON, nullable=False, server_default="{}"),
    sa.Column("created", UtcDateTime, nullable=False),
    goes_with("conversation", conversation_id="id"),
    sa.Index(None, "conversation_id"),
)

# What the memory holds of a turn. It goes with the turn, or alone, when it shall not be used again.
interaction = sa.Table(
    "interaction",
    metadata,
    sa.Column("turn_id", sa.Integer, primary_key=True),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("outcome", sa.String, nullable=False),
    # Whether it was one of several steps: it had turns of its conversation before it.
    sa.Column("follow_up", sa.Boolean, nullable=False),
    # What the answer cites: document, span, and the hash of its text as it was then.
    sa.Column("sources", sa.JSON, nullable=False),
    sa.Column("corrected", sa.Boolean, nullable=False, default=False),
    goes_with("turn", turn_id="id"),
)

# Vectors of its question, by embedder.
interaction_vector = sa.Table(
    "interaction_vector",
    metadata,
    sa.Column("turn_id", sa.Integer, primary_key=True),
    sa.Column("embedder", sa.String, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
    goes_with("interaction", turn_id="turn_id"),
)

# A question that two recipes answered, in the order in which their answers were shown.
bout = sa.Table(
    "bout",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    base_id(),
    sa.Column("visitor", sa.String, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Column("left", sa.JSON, nullable=False),
    sa.Column("right", sa.JSON, nullable=False),
    sa.Column("vote", sa.String, nullable=False, default=""),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Index(None, "base_id", "visitor"),
)

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
    def condition(self) -> sa.ColumnElement[bool]:
        """The SQL condition on the rows of the conversation table."""
        return self.over(conversation)

    def over(self, table: sa.Table) -> sa.ColumnElement[bool]:
        """Return the SQL condition on the rows of a table that stores the visitor of each row."""
        keys = self.visitor.keys
        mine = sa.true() if keys is None else table.c.visitor.in_(keys)
        return (table.c.base_id == self.base_id) & mine

    @property
    def ids(self) -> sa.Select[Any]:
        """The ids of the conversations, for statements about their turns."""
        return sa.select(conversation.c.id).where(self.condition)


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


def create(connection: sa.Connection, scope: Scope) -> int:
    """A new, empty conversation; returns its id."""
    new = sa.insert(conversation).values(
        base_id=scope.base_id, visitor=scope.visitor.key, created=datetime.now(UTC)
    )
    return int(connection.execute(new.returning(conversation.c.id)).scalar_one())


def find(connection: sa.Connection, scope: Scope, conversation_id: int) -> Conversation | None:
    """A conversation, where it is one of the scope."""
    names = ("id", "name", "settings", "visitor", "created")
    columns = [conversation.c[name] for name in names]
    statement = sa.select(*columns).where(scope.condition, conversation.c.id == conversation_id)
    row = connection.execute(statement).first()
    return None if row is None else Conversation(*row)


def find_ids_by_name(connection: sa.Connection, scope: Scope, name: str) -> list[int]:
    """The ids of the conversations of a name."""
    statement = sa.select(conversation.c.id).where(scope.condition, conversation.c.name == name)
    return list(connection.execute(statement.order_by(conversation.c.id)).scalars())


def change(connection: sa.Connection, scope: Scope, conversation_id: int, **values: Any) -> bool:
    """Store a name, settings or the head of a conversation; tell whether it is one of these."""
    statement = sa.update(conversation).where(scope.condition, conversation.c.id == conversation_id)
    changed = connection.execute(statement.values(**values).returning(conversation.c.id))
    return changed.first() is not None


def remove(connection: sa.Connection, scope: Scope, conversation_id: int) -> bool:
    """Delete a conversation with its turns; tell whether it was one of these."""
    statement = sa.delete(conversation).where(scope.condition, conversation.c.id == conversation_id)
    gone = connection.execute(statement.returning(conversation.c.id))
    return gone.first() is not None


def recent(
    connection: sa.Connection, scope: Scope, limit: int, containing: str = ""
) -> list[ConversationRow]:
    """List the sessions with a question, the last one first.

    ``containing`` keeps those with these words in their name, a question or an answer.
    """
    statement = _recent().where(scope.condition).limit(limit)
    if containing:
        with_text = sa.select(turn.c.conversation_id).where(
            turn.c.question.icontains(containing, autoescape=True)
            | turn.c.answer.icontains(containing, autoescape=True)
        )
        named = conversation.c.name.icontains(containing, autoescape=True)
        statement = statement.where(sa.or_(named, conversation.c.id.in_(with_text)))
    return [ConversationRow(*row) for row in connection.execute(statement)]


@cache
def _recent() -> sa.Select[Any]:
    first, last = turn.alias(), turn.alias()
    ends = (
        sa.select(
            turn.c.conversation_id,
            sa.func.min(turn.c.id).label("first"),
            sa.func.max(turn.c.id).label("last"),
            sa.func.count().label("turns"),
        )
        .group_by(turn.c.conversation_id)
        .subquery()
    )
    owner = conversation.c
    return (
        sa.select(
            owner.id, first.c.question, ends.c.turns, last.c.created, owner.name, owner.visitor
        )
        .join(ends, ends.c.conversation_id == owner.id)
        .join(first, first.c.id == ends.c.first)
        .join(last, last.c.id == ends.c.last)
        .order_by(ends.c.last.desc())
    )


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


def turns_since(connection: sa.Connection, scope: Scope, first: datetime | None) -> list[TurnRow]:
    """The finished turns of a base from a moment on, oldest first, of all users.

    What others than the visitor of the scope asked is not told.
    """
    same = ("id", "conversation_id", "status", "mode", "thumb", "seconds", "metrics")
    columns = [turn.c[name] for name in same]
    statement = (
        sa.select(
            *columns,
            sa.case((scope.condition, turn.c.question)).label("question"),
            turn.c.created.label("asked"),
        )
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(conversation.c.base_id == scope.base_id, turn.c.status != "asked")
        .order_by(turn.c.id.desc())
        .limit(MOST)
    )
    if first is not None:
        statement = statement.where(turn.c.created >= first)
    return [read(TurnRow, row) for row in reversed(connection.execute(statement).all())]


def has_turns(connection: sa.Connection, scope: Scope) -> bool:
    """Return whether a base has a finished turn of any visitor."""
    finished = (
        sa.select(turn.c.id)
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(conversation.c.base_id == scope.base_id, turn.c.status != "asked")
    )
    return bool(connection.scalar(sa.select(sa.exists(finished))))


def forget_conversations(connection: sa.Connection, before: datetime) -> None:
    """Delete conversations in which nothing was asked since a moment, and votes from before."""
    last = (
        sa.select(sa.func.max(turn.c.created))
        .where(turn.c.conversation_id == conversation.c.id)
        .scalar_subquery()
    )
    connection.execute(
        sa.delete(conversation).where(sa.func.coalesce(last, conversation.c.created) < before)
    )
    connection.execute(sa.delete(bout).where(bout.c.created < before))


def forget_interactions(connection: sa.Connection, before: datetime) -> None:
    """Delete what the memory holds of turns from before a moment."""
    old = sa.select(turn.c.id).where(turn.c.created < before)
    connection.execute(sa.delete(interaction).where(interaction.c.turn_id.in_(old)))


def forget_traces(connection: sa.Connection, before: datetime) -> None:
    """Delete how answers from before a moment came about."""
    empty: dict[str, Any] = {"details": {}, "metrics": {}, "sentences": [], "examples": []}
    has_traces = sa.or_(
        *(sa.cast(turn.c[name], sa.Text) != str(none) for name, none in empty.items())
    )
    connection.execute(sa.update(turn).where(turn.c.created < before, has_traces).values(**empty))
