"""Past interactions: what the memory of a knowledge base holds of its turns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from rag.errors import NotFound
from rag.storage.conversations.sessions import (
    Scope,
    conversation,
    interaction,
    interaction_vector,
    turn,
)
from rag.storage.documents import stretch
from rag.storage.passage_edits import passage_edit
from rag.storage.rows import insert_for, read
from rag.storage.tables import document, knowledge_base
from rag.storage.vectors import text_hash

ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class CitedSpan:
    """A span that an answer cites, with the hash (hex) of its text at that time.

    ``base`` names the other knowledge base that the span is from, or the tool; "" for the memory's
    own knowledge base.
    """

    document_id: str
    document: str
    start: int
    end: int
    text_hash: str
    base: str = ""


@dataclass(frozen=True, slots=True)
class Interaction:
    """A finished turn as the memory holds it.

    ``outcome`` is answered, refused, interrupted or failed; ``thumb`` what the reader said of it.
    """

    turn: int
    conversation: int
    question: str
    answer: str
    outcome: str
    follow_up: bool
    thumb: int
    sources: tuple[CitedSpan, ...]
    corrected: bool
    asked: datetime


@dataclass(frozen=True, slots=True)
class Vectored:
    """An interaction with the vector of its question (float32 bytes), None where none is made."""

    turn: int
    question: str
    thumb: int
    data: bytes | None


def hash_of(text: str) -> str:
    """Return the hash (hex) that identifies the text of a source."""
    return text_hash(text).hex()


def embedder_of(connection: sa.Connection, turn_id: int) -> str | None:
    """The embedder of a turn's recipe by name; None where there is no such turn."""
    name = turn.c.recipe["index"]["embedder"].as_string()
    return connection.execute(sa.select(name).where(turn.c.id == turn_id)).scalar()


def conversation_of(connection: sa.Connection, turn_id: int | None) -> int | None:
    """The conversation of a turn, or None."""
    return connection.execute(
        sa.select(turn.c.conversation_id).where(turn.c.id == turn_id)
    ).scalar()


def record(
    connection: sa.Connection,
    turn_id: int,
    *,
    question: str,
    answer: str,
    outcome: str,
    rewritten: bool,
    sources: Sequence[CitedSpan],
) -> None:
    """Store what became of a turn, in the place of what was stored of it."""
    before = connection.execute(sa.select(turn.c.parent).where(turn.c.id == turn_id)).scalar()
    connection.execute(sa.delete(interaction).where(interaction.c.turn_id == turn_id))
    connection.execute(
        sa.insert(interaction).values(
            turn_id=turn_id,
            question=question,
            answer=answer,
            outcome=outcome,
            follow_up=rewritten or before is not None,
            sources=[asdict(source) for source in sources],
            corrected=False,
        )
    )


def store_vectors(connection: sa.Connection, embedder: str, vectors: Mapping[int, bytes]) -> None:
    """Keep vectors of questions (float32 bytes), by turn; those that are there already stay."""
    rows = [
        {"turn_id": turn_id, "embedder": embedder, "data": data}
        for turn_id, data in sorted(vectors.items())
    ]
    if rows:
        fresh = insert_for(connection, interaction_vector)
        connection.execute(fresh.on_conflict_do_nothing(), rows)


def vectors(
    connection: sa.Connection, scope: Scope, embedder: str, most: int, *, successful: bool
) -> list[Vectored]:
    """The newest interactions with their vectors of an embedder, newest first.

    ``successful`` leaves out what was not answered and what has a thumb down.
    """
    mine = sa.and_(
        interaction_vector.c.turn_id == interaction.c.turn_id,
        interaction_vector.c.embedder == embedder,
    )
    statement = (
        sa.select(
            interaction.c.turn_id,
            interaction.c.question,
            turn.c.thumb,
            interaction_vector.c.data,
        )
        .join(turn, turn.c.id == interaction.c.turn_id)
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .outerjoin(interaction_vector, mine)
        .where(scope.condition)
        .order_by(interaction.c.turn_id.desc())
        .limit(most)
    )
    if successful:
        statement = statement.where(interaction.c.outcome == ANSWERED, turn.c.thumb >= 0)
    return [Vectored(*row) for row in connection.execute(statement)]


def list_interactions(
    connection: sa.Connection, scope: Scope, limit: int, offset: int = 0
) -> list[Interaction]:
    """The interactions of a memory, newest first."""
    statement = _rows(scope).order_by(interaction.c.turn_id.desc()).limit(limit).offset(offset)
    return [_read(row) for row in connection.execute(statement)]


def count(connection: sa.Connection, scope: Scope) -> int:
    """Return the number of interactions in a scope."""
    statement = sa.select(sa.func.count()).select_from(_rows(scope).subquery())
    return connection.execute(statement).scalar_one()


def find_by_turns(
    connection: sa.Connection, scope: Scope, turn_ids: Collection[int]
) -> dict[int, Interaction]:
    """Find the interactions of some turns, by turn."""
    statement = _rows(scope).where(interaction.c.turn_id.in_(turn_ids))
    return {row.turn: _read(row) for row in connection.execute(statement)}


def get(connection: sa.Connection, scope: Scope, turn_id: int) -> Interaction:
    """One of them. Raises NotFound."""
    interaction = find_by_turns(connection, scope, [turn_id]).get(turn_id)
    if interaction is None:
        raise NotFound(
            f"The memory has no interaction {turn_id}.",
            "It was deleted, or it belongs to someone else.",
        )
    return interaction


def correct(connection: sa.Connection, turn_id: int, question: str, answer: str) -> None:
    """Replace the words of one; the vectors of another question are forgotten."""
    mine = interaction.c.turn_id == turn_id
    same = connection.execute(sa.select(interaction.c.question).where(mine)).scalar() == question
    if not same:
        stored = interaction_vector.c.turn_id == turn_id
        connection.execute(sa.delete(interaction_vector).where(stored))
    changed = {"question": question, "answer": answer, "outcome": ANSWERED, "corrected": True}
    connection.execute(sa.update(interaction).where(mine).values(changed))


def remove(connection: sa.Connection, turn_id: int) -> None:
    """Forget one; the turn stays in its conversation."""
    connection.execute(sa.delete(interaction).where(interaction.c.turn_id == turn_id))


def changed_sources(
    connection: sa.Connection, base_id: int, sources: Collection[CitedSpan]
) -> set[CitedSpan]:
    """Return the sources that changed: document deleted or read again, or words excluded by hand.

    What a tool found is none that could be looked up: it counts as changed.
    """
    bases = {"": base_id}
    for name in {source.base for source in sources} - {""}:
        named_so = sa.select(knowledge_base.c.id).where(knowledge_base.c.name == name)
        bases[name] = connection.execute(named_so).scalar() or 0
    return {source for source in sources if not _is_there(connection, bases[source.base], source)}


def _is_there(connection: sa.Connection, base_id: int, source: CitedSpan) -> bool:
    is_it = (document.c.base_id == base_id) & (document.c.id == source.document_id)
    if connection.execute(sa.select(document.c.id).where(is_it)).first() is None:
        return False
    excluded = sa.select(passage_edit.c.id).where(
        passage_edit.c.base_id == base_id,
        passage_edit.c.document_id == source.document_id,
        passage_edit.c.kind == "exclude",
        passage_edit.c.start < source.end,
        passage_edit.c.end > source.start,
    )
    if connection.execute(excluded).first() is not None:
        return False
    text = stretch(connection, base_id, source.document_id, source.start, source.end)
    return hash_of(text) == source.text_hash


def _rows(scope: Scope) -> sa.Select[Any]:
    return (
        sa.select(
            interaction.c.turn_id.label("turn"),
            turn.c.conversation_id.label("conversation"),
            interaction.c.question,
            interaction.c.answer,
            interaction.c.outcome,
            interaction.c.follow_up,
            turn.c.thumb,
            interaction.c.sources,
            interaction.c.corrected,
            turn.c.created.label("asked"),
        )
        .join(turn, turn.c.id == interaction.c.turn_id)
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(scope.condition)
    )


def _read(row: Any) -> Interaction:
    return read(Interaction, row, sources=tuple(CitedSpan(**source) for source in row.sources))
