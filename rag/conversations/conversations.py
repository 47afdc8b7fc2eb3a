"""Chat histories. A question is stored before its answer begins; a partial answer is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rag import telemetry
from rag.conversations import exports
from rag.conversations.memory import Memory
from rag.conversations.operations import Operations
from rag.conversations.prompts import Prompts
from rag.conversations.reviews import Reviews
from rag.conversations.turn_metrics import log_turn, turn_metrics
from rag.errors import InvalidInput, NotFound
from rag.input_rules import storable
from rag.library.documents.stored import documents_hash_now
from rag.operation import operation, part
from rag.recipe import Recipe
from rag.retrieval import stage_row
from rag.search.corpus import check_question
from rag.services.services import Services
from rag.storage.conversations import (
    Conversation,
    ConversationRow,
    StoredCitation,
    Turn,
    feedback,
    sessions,
    turns,
)
from rag.types import Answer, Message, Stage

if TYPE_CHECKING:
    from rag.conversations.arena import Arena
    from rag.conversations.tours import Tours
    from rag.storage.conversations import Scope

__all__ = ["Conversations", "StoredCitation", "Turn"]


LONGEST_NAME = 80
_MESSAGES = ("complete", "interrupted", "refused")
_REMEMBERED = 3
"""Turns that a follow-up may refer to."""
_LOOKED_AT = 200
"""The newest questions that are looked at for those with a doubtful or refused answer."""
_GONE = "This knowledge base has no such conversation."


class Conversations(Reviews, Operations):
    """The conversations that a visitor has with one knowledge base; others are not there."""

    def __init__(
        self, services: Services, scope: Scope, name: str, only_tour: int | None = None
    ) -> None:
        """``only_tour`` is the one that is there for the guests of its link."""
        self._database = services.database
        self._memory = Memory(services, scope, name)
        self._scope = scope
        self._only_tour = only_tour

    @part
    def memory(self) -> Memory:
        return self._memory

    @part
    def arena(self) -> Arena:
        from rag.conversations.arena import Arena

        return Arena(self._database, self._scope)

    @part
    def tours(self) -> Tours:
        from rag.conversations.tours import Tours

        return Tours(self._database, self._scope.base_id, self._only_tour)

    @part
    def prompts(self) -> Prompts:
        return Prompts(self._database, self._scope.base_id)

    @operation("guest")
    def open(self, conversation_id: int | None, name: str = "") -> int:
        """Return the id of a conversation if it is in scope, else create one and return its id.

        A new one gets the ``name``. Raises InvalidInput.
        """
        name = _checked_name(name)
        with self._database.write() as connection:
            if conversation_id is not None and sessions.find(
                connection, self._scope, conversation_id
            ):
                return conversation_id
            new = sessions.create(connection, self._scope)
            if name:
                sessions.change(connection, self._scope, new, name=name)
            return new

    @operation("guest")
    def find(self, conversation_id: int) -> Conversation | None:
        """A conversation with its name and settings; None where it is not one of these."""
        return self._database.fetch(sessions.find, self._scope, conversation_id)

    @operation("guest")
    def named(self, name: str) -> Conversation:
        """A conversation by its id or name. Raises NotFound, and InvalidInput for two of a name."""
        stripped = name.strip()
        if (
            stripped.isdecimal()
            and len(stripped) <= 9
            and (conversation := self.find(int(stripped)))
        ):
            return conversation
        ids = (
            self._database.fetch(sessions.find_ids_by_name, self._scope, stripped)
            if stripped
            else []
        )
        if len(ids) > 1:
            listed = ", ".join(map(str, ids))
            raise InvalidInput(
                f"{len(ids)} conversations are called {stripped!r}.", f"Ids: {listed}"
            )
        if not ids or (conversation := self.find(ids[0])) is None:
            raise NotFound(f"There is no conversation {stripped!r}.", "sessions KB lists them.")
        return conversation

    @operation("guest")
    def recent(self, limit: int = 20, containing: str = "") -> list[ConversationRow]:
        """List the conversations with a question, the last one first.

        ``containing`` keeps those with these words in their name, a question or an answer.
        """
        return self._database.fetch(sessions.recent, self._scope, limit, containing.strip())

    @operation("guest")
    def unsure(self) -> list[str]:
        """Return questions whose newest answer here was refused or doubtful, the last one first."""
        asked = self._database.fetch(feedback.chat_questions, self._scope, _LOOKED_AT)
        newest = {one.question: one.flagged for one in reversed(asked)}
        return [question for question in reversed(newest) if newest[question]]

    @operation("guest", audit="conversation")
    def rename(self, conversation_id: int, name: str) -> str:
        """Give it a name, "" for none; return it. Raises InvalidInput, NotFound."""
        name = _checked_name(name)
        self._change(conversation_id, name=name)
        return name

    @operation("guest")
    def keep(self, conversation_id: int, settings: Mapping[str, Any]) -> None:
        """Store what the conversation is asked with, for when it is opened again."""
        self._change(conversation_id, settings=dict(settings))

    @operation("guest", audit="conversation")
    def delete(self, conversation_id: int) -> None:
        """Delete it with its turns. Raises NotFound."""
        with self._database.write() as connection:
            if not sessions.remove(connection, self._scope, conversation_id):
                raise NotFound(_GONE)

    @operation("viewer", audit="export")
    def export(self, conversation_id: int, kind: str = "markdown") -> str:
        """The branch that is shown, as ``markdown`` or ``json``. Raises NotFound."""
        conversation = self.find(conversation_id)
        if conversation is None:
            raise NotFound(_GONE)
        turns = self.turns(conversation_id)
        return (
            exports.markdown(conversation, turns)
            if kind == "markdown"
            else exports.json_text(conversation, turns)
        )

    @operation("guest")
    def turns(
        self, conversation_id: int, last: int | None = None, most: int | None = None
    ) -> list[Turn]:
        """Questions and answers of the branch that is shown, or ends with ``last``.

        ``most`` limits them to the newest.
        """
        return self._database.fetch(
            turns.list_branch_turns, self._scope, conversation_id, last, most
        )

    @operation("guest")
    def show(self, conversation_id: int, turn_id: int) -> None:
        """Show the newest branch that goes through a turn. Raises NotFound."""
        with self._database.write() as connection:
            head = turns.newest_below(connection, conversation_id, turn_id)
            if not sessions.change(connection, self._scope, conversation_id, head=head):
                raise NotFound(_GONE)

    def _change(self, conversation_id: int, **values: Any) -> None:
        with self._database.write() as connection:
            if not sessions.change(connection, self._scope, conversation_id, **values):
                raise NotFound(_GONE)

    @operation("guest")
    def history(self, conversation_id: int, last: int | None = None) -> tuple[Message, ...]:
        """Return the most recent complete questions and answers, as context for a follow-up."""
        answered = [turn for turn in self.turns(conversation_id, last) if turn.status in _MESSAGES]
        return tuple(message for turn in answered[-_REMEMBERED:] for message in _messages(turn))

    @operation("guest", models="none")
    def ask(
        self,
        conversation_id: int,
        question: str,
        recipe: Recipe,
        also: Sequence[str] = (),
        *,
        instead_of: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> int:
        """Store a question that is about to be answered; return the turn.

        It comes after the last turn shown, or is another version of ``instead_of``, and is shown.
        ``settings`` are kept with the conversation. Raises NotFound, and InvalidInput as
        ``check_question`` does.
        """
        check_question(question)
        changes = {} if settings is None else {"settings": dict(settings)}
        with self._database.write() as connection:
            turn_id = turns.ask(connection, conversation_id, question, recipe, also, instead_of)
            if not sessions.change(connection, self._scope, conversation_id, head=None, **changes):
                raise NotFound(_GONE)
            return turn_id

    @operation("guest")
    def conclude(self, turn_id: int, answer: Answer) -> None:
        """Store an answer, whole or as far as it came, with what failed in its search."""
        notes = [answer.note, *(_failure(stage) for stage in answer.trace.failures)]
        noted = replace(answer, note=" ".join(note for note in notes if note))
        metrics = turn_metrics(noted)
        documents = self._database.fetch(documents_hash_now, self._scope.base_id)
        with self._database.write() as connection:
            if turns.conclude(connection, self._scope, turn_id, noted, metrics, documents):
                self._memory.record(connection, turn_id, noted)
        log_turn(self._scope.base_id, turn_id, noted)
        telemetry.came_of_it(noted)

    @operation("guest")
    def rate(self, turn_id: int, thumb: int) -> None:
        """Store a thumb: 1 up, -1 down, 0 none."""
        self._database.execute(turns.mark, self._scope, turn_id, thumb=thumb)


def _checked_name(name: str) -> str:
    cleaned = " ".join(storable(name).split())
    if len(cleaned) > LONGEST_NAME or not cleaned.isprintable():
        raise InvalidInput(f"A conversation's name has up to {LONGEST_NAME} characters.")
    return cleaned


def _messages(turn: Turn) -> Iterator[Message]:
    yield Message("user", turn.complete)
    if turn.answer and turn.status in ("complete", "interrupted"):
        yield Message("assistant", turn.answer)


def failure_words(stage: Stage) -> str:
    """Return the consequence of a failed stage for the user, without the reason."""
    return stage_row(stage.name).failed or f"The step {stage.name} failed"


def _failure(stage: Stage) -> str:
    sentence = f"{failure_words(stage)}: {stage.note}"
    return sentence if sentence.endswith(".") else f"{sentence}."
