"""Chat turns. A question is stored before it is answered, so that a killed process loses none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, insert, select, update

from rag.recipe import Recipe
from rag.storage.conversations.tables import conversation, turn
from rag.storage.rows import read
from rag.types import TOOL, Answer, Example


@dataclass(frozen=True, slots=True)
class StoredCitation:
    """``[n]`` of a stored answer; the passage is found again by document and span."""

    n: int
    chunk_id: str
    document_id: str
    document: str
    start: int
    end: int
    page: int | None
    relevance: float
    text: str
    quote: str
    base: str = ""
    url: str = ""
    checked: bool = False

    @property
    def from_tool(self) -> bool:
        """Whether it is a result of an HTTP tool, which no knowledge base holds."""
        return self.document_id.startswith(TOOL)


@dataclass(frozen=True, slots=True)
class StoredExample:
    """A past interaction that stood in the prompt of a turn, by the id of its turn."""

    turn: int
    question: str
    similarity: float
    score: float
    thumb: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer; ``status`` is "asked" until the answer ended somehow.

    ``also`` names the knowledge bases that were searched too, as ``str(FurtherBase)`` writes them.
    ``rewritten`` is the complete question that a follow-up was answered as, "" where it was
    answered as it stands. ``metrics`` are what was counted and timed, by name: {} of turns from
    before that was stored. ``examples`` are the past interactions that stood in the prompt.
    """

    id: int
    question: str
    recipe: Recipe
    answer: str
    status: str
    mode: str
    citations: tuple[StoredCitation, ...]
    note: str
    passages: int
    seconds: float
    thumb: int
    also: tuple[str, ...] = ()
    rewritten: str = ""
    metrics: Mapping[str, Any] = field(default_factory=dict)
    examples: tuple[StoredExample, ...] = ()

    @property
    def complete(self) -> str:
        """The question as it can be understood without the conversation."""
        return self.rewritten or self.question


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation in a list: its first question, how many there were, and when the last was."""

    id: int
    question: str
    turns: int
    asked: datetime


def create(connection: Connection, base_id: int) -> int:
    """A new, empty conversation; returns its id."""
    new = insert(conversation).values(base_id=base_id, created=datetime.now(UTC))
    return int(connection.execute(new.returning(conversation.c.id)).scalar_one())


def exists(connection: Connection, base_id: int, conversation_id: int) -> bool:
    """Whether a conversation belongs to a base."""
    statement = select(conversation.c.id).where(
        conversation.c.base_id == base_id, conversation.c.id == conversation_id
    )
    return connection.execute(statement).first() is not None


def recent(connection: Connection, base_id: int, limit: int) -> list[ConversationRow]:
    """The conversations of a base in which something was asked, the last one first."""
    given = {"base": base_id, "limit": limit}
    return [ConversationRow(*row) for row in connection.execute(_recent(), given)]


@cache
def _recent() -> Select[Any]:
    # Every drawing of the chat asks it: built once, as building takes longer than running it.
    first, last = turn.alias(), turn.alias()
    ends = (
        select(
            turn.c.conversation_id,
            func.min(turn.c.id).label("first"),
            func.max(turn.c.id).label("last"),
            func.count().label("turns"),
        )
        .join(conversation, conversation.c.id == turn.c.conversation_id)
        .where(conversation.c.base_id == bindparam("base"))
        .group_by(turn.c.conversation_id)
        .subquery()
    )
    return (
        select(ends.c.conversation_id, first.c.question, ends.c.turns, last.c.created)
        .join(first, first.c.id == ends.c.first)
        .join(last, last.c.id == ends.c.last)
        .order_by(ends.c.last.desc())
        .limit(bindparam("limit"))
    )


def ask(
    connection: Connection,
    conversation_id: int,
    question: str,
    recipe: Recipe,
    also: Sequence[str] = (),
) -> int:
    """Stores a question that is about to be answered; returns the id of the turn."""
    new = insert(turn).values(
        conversation_id=conversation_id,
        question=question,
        recipe=recipe.model_dump(mode="json"),
        status="asked",
        also=list(also),
        citations=[],
        created=datetime.now(UTC),
    )
    return int(connection.execute(new.returning(turn.c.id)).scalar_one())


def conclude(
    connection: Connection, turn_id: int, answer: Answer, metrics: Mapping[str, Any] | None = None
) -> None:
    """Stores the answer of a turn, whole or as far as it came, and what was counted and timed."""
    connection.execute(
        update(turn)
        .where(turn.c.id == turn_id)
        .values(
            answer=answer.text,
            status=answer.status,
            mode=answer.mode,
            citations=_citations(answer),
            note=answer.note,
            passages=answer.trace.passages,
            seconds=answer.trace.seconds,
            rewritten=answer.trace.question if answer.trace.typed else "",
            metrics=dict(metrics or {}),
            examples=[_example(each) for each in answer.examples],
        )
    )


def _citations(answer: Answer) -> Sequence[dict[str, Any]]:
    return [
        {
            "n": citation.n,
            "chunk_id": citation.hit.chunk.id,
            "document_id": citation.hit.chunk.document_id,
            "document": citation.hit.document,
            "start": citation.hit.chunk.start,
            "end": citation.hit.chunk.end,
            "page": citation.page or citation.hit.chunk.page,
            "relevance": citation.hit.relevance,
            "text": citation.hit.chunk.text,
            "quote": citation.quote,
            "base": citation.hit.base,
            "url": citation.hit.url,
            "checked": citation.checked,
        }
        for citation in answer.citations
    ]


def _example(example: Example) -> dict[str, Any]:
    shown = asdict(example)
    del shown["answer"]  # what is deleted from the memory shall not live on in turns
    return shown


def rate(connection: Connection, turn_id: int, thumb: int) -> None:
    """Stores a thumb: 1 up, -1 down, 0 none."""
    connection.execute(update(turn).where(turn.c.id == turn_id).values(thumb=thumb))


def turns(connection: Connection, conversation_id: int) -> list[Turn]:
    """The turns of a conversation, oldest first."""
    rows = connection.execute(
        select(turn).where(turn.c.conversation_id == conversation_id).order_by(turn.c.id)
    )
    return [
        read(
            Turn,
            row,
            recipe=Recipe.parse(row.recipe),
            citations=tuple(StoredCitation(**item) for item in row.citations),
            also=tuple(row.also),
            examples=tuple(StoredExample(**each) for each in row.examples),
        )
        for row in rows
    ]
