"""User feedback on turns, and comparisons of two recipes on one question.

A review reads the turns that wait for one; figures count feedback by kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from rag.recipe import Recipe
from rag.storage.conversations.sessions import Scope, bout, conversation, turn
from rag.storage.conversations.turns import StoredCitation, Turn, stored_turn

SHOULD_ANSWER, SHOULD_REFUSE = "should have answered", "should have refused"
FEEDBACK_REASONS = (SHOULD_ANSWER, "wrong", "incomplete", "wrong source", SHOULD_REFUSE, "other")
"""Why a thumb is down."""
DISMISSED, LABELLED = "dismissed", "labelled"
"""What a review makes of a turn: nothing, or a question of a set."""

DOWN = turn.c.thumb < 0
REFUSED = turn.c.status == "refused"
DOUBTFUL = sa.cast(turn.c.details, sa.String).contains('"state": "doubtful"')
_SENTENCES = sa.cast(turn.c.sentences, sa.String)
UNSUPPORTED = sa.or_(_SENTENCES.contains('"unsupported"'), _SENTENCES.contains('"uncited"'))
"""Turns with an unsupported sentence: by what it cites, or as it cites nothing."""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A turn with whose conversation it is, for a review or an export.

    ``own`` says whether it is one of the visitor of the scope.
    """

    turn: Turn
    conversation: int
    visitor: str
    own: bool = True


@dataclass(frozen=True, slots=True)
class ChatQuestion:
    """A question of a chat, as it can be understood without the conversation.

    ``flagged`` says that the answer is refused or doubtful, and that no review settled it.
    ``nearest`` is the first passage that the answer cites.
    """

    question: str
    status: str
    flagged: bool
    nearest: StoredCitation | None = None


@dataclass(frozen=True, slots=True)
class FeedbackFigures:
    """Counts of turns: ended, thumbs, refusals, those with a sentence that its sources do not bear
    out, those that a further question leans on, those of which a citation was opened, those that
    wait for a review, those that would, but are ``unseen``: nobody but who asked sees them, and
    those whose answer is doubtful."""

    turns: int
    up: int
    down: int
    refused: int
    unsupported: int
    followed: int
    opened: int
    waiting: int
    unseen: int = 0
    doubtful: int = 0


def waiting(connection: sa.Connection, scope: Scope, limit: int) -> list[Feedback]:
    """Turns with a thumb down, refused, doubtful, or with an unsupported sentence, that no review
    settled; newest first."""
    return _rows(connection, scope, _waits(), limit)


def chat_questions(connection: sa.Connection, scope: Scope, limit: int) -> list[ChatQuestion]:
    """Return the visitor's own questions that documents should answer, newest first."""
    flagged = sa.and_(turn.c.review == "", sa.or_(REFUSED, DOUBTFUL))
    ended = turn.c.status.in_(("complete", "refused")) & (turn.c.mode != "general")
    rows = connection.execute(
        sa.select(
            turn.c.question,
            turn.c.rewritten,
            turn.c.status,
            turn.c.citations,
            flagged.label("flagged"),
        )
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(scope.condition, ended)
        .order_by(turn.c.id.desc())
        .limit(limit)
    )
    return [
        ChatQuestion(
            row.rewritten or row.question,
            row.status,
            row.flagged,
            StoredCitation(**row.citations[0]) if row.citations else None,
        )
        for row in rows
    ]


def list_feedback(
    connection: sa.Connection, scope: Scope, limit: int | None = None
) -> list[Feedback]:
    """Turns that have a thumb, a correction or a review; newest first."""
    thought = sa.or_(turn.c.thumb != 0, turn.c.correction != "", turn.c.review != "")
    return _rows(connection, scope, thought, limit)


def figures(connection: sa.Connection, scope: Scope) -> FeedbackFigures:
    """Count the turns of each kind in a knowledge base, by all visitors."""
    later = turn.alias()
    leans = sa.and_(later.c.parent == turn.c.id, later.c.rewritten != "")  # made complete by it
    followed = sa.select(later.c.id).where(leans).exists()
    ended = turn.c.status != "asked"
    counts = (
        _count(condition)
        for condition in (
            ended,
            turn.c.thumb > 0,
            DOWN,
            REFUSED,
            UNSUPPORTED,
            followed,
            turn.c.clicks > 0,
            _waits() & _seen(scope),
            _waits() & ~_seen(scope),
            DOUBTFUL,
        )
    )
    statement = (
        sa.select(*counts)
        .select_from(turn)
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(conversation.c.base_id == scope.base_id)
    )
    return FeedbackFigures(*connection.execute(statement).one())


def _waits() -> sa.ColumnElement[bool]:
    return sa.and_(turn.c.review == "", sa.or_(DOWN, REFUSED, DOUBTFUL, UNSUPPORTED))


def _seen(scope: Scope) -> sa.ColumnElement[bool]:
    """Turns of the visitor, and those of others that were given a thumb, which says that much."""
    return sa.or_(scope.condition, turn.c.thumb != 0)


def _count(condition: sa.ColumnElement[bool]) -> Any:
    return sa.func.coalesce(sa.func.sum(sa.case((condition, 1), else_=0)), 0)


def _rows(
    connection: sa.Connection, scope: Scope, condition: sa.ColumnElement[bool], limit: int | None
) -> list[Feedback]:
    rows = connection.execute(
        sa.select(turn, conversation.c.visitor, scope.condition.label("own"))
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(conversation.c.base_id == scope.base_id, _seen(scope), condition)
        .order_by(turn.c.id.desc())
        .limit(limit)
    )
    return [
        Feedback(stored_turn(row, ()), row.conversation_id, row.visitor, bool(row.own))
        for row in rows
    ]


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


def add_comparison(
    connection: sa.Connection, scope: Scope, question: str, left: Side, right: Side
) -> int:
    """Store a bout without a vote; return its id."""
    sides = {"left": left, "right": right}
    values = {
        name: {"recipe": side.recipe.model_dump(mode="json"), "answer": dict(side.answer)}
        for name, side in sides.items()
    }
    new = sa.insert(bout).values(
        base_id=scope.base_id,
        visitor=scope.visitor.key,
        question=question,
        created=datetime.now(UTC),
        **values,
    )
    return int(connection.execute(new.returning(bout.c.id)).scalar_one())


def find_comparison(
    connection: sa.Connection, scope: Scope, bout_id: int
) -> ArenaComparison | None:
    """A bout, where it is one of the scope."""
    statement = sa.select(bout).where(scope.over(bout), bout.c.id == bout_id)
    row = connection.execute(statement).first()
    return None if row is None else _comparison(row)


def vote_comparison(connection: sa.Connection, scope: Scope, bout_id: int, choice: str) -> bool:
    """Store a vote; tell whether the bout is one of the scope."""
    statement = sa.update(bout).where(scope.over(bout), bout.c.id == bout_id).values(vote=choice)
    return connection.execute(statement.returning(bout.c.id)).first() is not None


def list_comparisons(connection: sa.Connection, scope: Scope, limit: int) -> list[ArenaComparison]:
    """The bouts, newest first."""
    statement = sa.select(bout).where(scope.over(bout)).order_by(bout.c.id.desc()).limit(limit)
    return [_comparison(row) for row in connection.execute(statement)]


def list_voted_comparisons(connection: sa.Connection, scope: Scope) -> list[ArenaComparison]:
    """The bouts that have a vote, oldest first."""
    statement = sa.select(bout).where(scope.over(bout), bout.c.vote != "").order_by(bout.c.id)
    return [_comparison(row) for row in connection.execute(statement)]


def _comparison(row: Any) -> ArenaComparison:
    left, right = (
        Side(Recipe.restore(side["recipe"]), side["answer"]) for side in (row.left, row.right)
    )
    return ArenaComparison(row.id, row.question, left, right, row.vote, row.created)
