"""Bouts: one question answered by two recipes, and which answer was preferred."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, insert, select, update

from rag.recipe import Recipe
from rag.storage.conversations.sessions import Scope
from rag.storage.conversations.tables import bout


@dataclass(frozen=True, slots=True)
class Side:
    """An answer of a bout, and the recipe that gave it."""

    recipe: Recipe
    answer: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ArenaComparison:
    """A question with the answers of two recipes as they were shown; ``vote`` is "" until one."""

    id: int
    question: str
    left: Side
    right: Side
    vote: str
    created: datetime


def add(connection: Connection, scope: Scope, question: str, left: Side, right: Side) -> int:
    """Store a bout without a vote; return its id."""
    sides = {"left": left, "right": right}
    values = {
        name: {"recipe": side.recipe.model_dump(mode="json"), "answer": dict(side.answer)}
        for name, side in sides.items()
    }
    new = insert(bout).values(
        base_id=scope.base_id,
        visitor=scope.visitor.key,
        question=question,
        created=datetime.now(UTC),
        **values,
    )
    return int(connection.execute(new.returning(bout.c.id)).scalar_one())


def find(connection: Connection, scope: Scope, bout_id: int) -> ArenaComparison | None:
    """A bout, where it is one of the scope."""
    statement = select(bout).where(scope.over(bout), bout.c.id == bout_id)
    row = connection.execute(statement).first()
    return None if row is None else _read(row)


def vote(connection: Connection, scope: Scope, bout_id: int, choice: str) -> bool:
    """Store a vote; tell whether the bout is one of the scope."""
    statement = update(bout).where(scope.over(bout), bout.c.id == bout_id).values(vote=choice)
    return connection.execute(statement.returning(bout.c.id)).first() is not None


def list_comparisons(connection: Connection, scope: Scope, limit: int) -> list[ArenaComparison]:
    """The bouts, newest first."""
    statement = select(bout).where(scope.over(bout)).order_by(bout.c.id.desc()).limit(limit)
    return [_read(row) for row in connection.execute(statement)]


def list_voted_comparisons(connection: Connection, scope: Scope) -> list[ArenaComparison]:
    """The bouts that have a vote, oldest first."""
    statement = select(bout).where(scope.over(bout), bout.c.vote != "").order_by(bout.c.id)
    return [_read(row) for row in connection.execute(statement)]


def _read(row: Any) -> ArenaComparison:
    left, right = (
        Side(Recipe.restore(side["recipe"]), side["answer"]) for side in (row.left, row.right)
    )
    return ArenaComparison(row.id, row.question, left, right, row.vote, row.created)
