"""Chat histories. A question is stored before its answer begins; a partial answer is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rag.conversations.turn_metrics import turn_metrics
from rag.memory import Memory
from rag.recipe import Recipe
from rag.retrieval import stage_row
from rag.storage import Database, storable
from rag.storage import conversations as rows
from rag.storage.conversations import ConversationRow, StoredCitation, Turn
from rag.types import Answer, Message, Stage

__all__ = ["Conversations", "StoredCitation", "Turn"]


_SAID = ("complete", "interrupted", "refused")
_REMEMBERED = 3
"""Turns that a follow-up may refer to."""


class Conversations:
    """The conversations of one knowledge base."""

    def __init__(self, database: Database, base_id: int, memory: Memory) -> None:
        self._database = database
        self._base_id = base_id
        self._memory = memory

    def open(self, conversation_id: int | None) -> int:
        """That conversation if it is one of this base, else a new one."""
        with self._database.write() as connection:
            if conversation_id is not None and rows.exists(
                connection, self._base_id, conversation_id
            ):
                return conversation_id
            return rows.create(connection, self._base_id)

    def exists(self, conversation_id: int) -> bool:
        """Whether it is one of this base."""
        with self._database.read() as connection:
            return rows.exists(connection, self._base_id, conversation_id)

    def recent(self, limit: int = 20) -> list[ConversationRow]:
        """Those in which something was asked, the last one first."""
        with self._database.read() as connection:
            return rows.recent(connection, self._base_id, limit)

    def turns(self, conversation_id: int) -> list[Turn]:
        """Questions and answers, oldest first."""
        with self._database.read() as connection:
            return rows.turns(connection, conversation_id)

    def history(self, conversation_id: int) -> tuple[Message, ...]:
        """What was said last, for a follow-up to refer to: complete questions, and answers."""
        said = [turn for turn in self.turns(conversation_id) if turn.status in _SAID]
        return tuple(message for turn in said[-_REMEMBERED:] for message in _messages(turn))

    def ask(
        self, conversation_id: int, question: str, recipe: Recipe, also: Sequence[str] = ()
    ) -> int:
        """Stores a question that is about to be answered; returns the turn."""
        question = storable(question)
        with self._database.write() as connection:
            return rows.ask(connection, conversation_id, question, recipe, also)

    def conclude(self, turn_id: int, answer: Answer) -> None:
        """Stores an answer, whole or as far as it came, with what failed in its search."""
        notes = [answer.note, *(_failure(stage) for stage in answer.trace.failures)]
        noted = replace(answer, note=" ".join(note for note in notes if note))
        with self._database.write() as connection:
            rows.conclude(connection, turn_id, noted, turn_metrics(noted))
            self._memory.record(connection, turn_id, noted)

    def rate(self, turn_id: int, thumb: int) -> None:
        """Stores a thumb: 1 up, -1 down, 0 none."""
        with self._database.write() as connection:
            rows.rate(connection, turn_id, thumb)


def _messages(turn: Turn) -> Iterator[Message]:
    yield Message("user", turn.complete)
    if turn.answer and turn.status in ("complete", "interrupted"):
        yield Message("assistant", turn.answer)


def failure_words(stage: Stage) -> str:
    """What a failed stage means for the one who asked, without the reason."""
    return stage_row(stage.name).failed or f"The step {stage.name} failed"


def _failure(stage: Stage) -> str:
    said = f"{failure_words(stage)}: {stage.note}"
    return said if said.endswith(".") else f"{said}."
