"""Memory of past turns, and selection of those that help with a new question."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rag import providers
from rag.errors import InvalidInput, TouchstoneError
from rag.input_rules import storable
from rag.operation import operation
from rag.recipe import Recipe
from rag.services.services import Services
from rag.storage import Connection
from rag.storage.conversations import Scope
from rag.storage.conversations import interactions as rows
from rag.storage.conversations.interactions import ANSWERED, CitedSpan, Interaction, Vectored
from rag.types import Answer, Example, Vectors

MOST = 2000
"""Newest interactions that are looked through."""

Standing = Literal["usable", "not answered", "thumb down", "no source", "stale"]
"""Whether an interaction can be an example, or the first reason why not."""

_OUTCOMES = {"complete": ANSWERED}

THUMB_UP = 0.05
"""What a thumb up adds to the cosine: it wins between interactions that are about as similar."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An interaction in a list: whether it can be used, and how similar it is where searched.

    ``gone`` are the names of the documents that changed or were deleted since.
    """

    interaction: Interaction
    standing: Standing
    gone: tuple[str, ...] = ()
    cosine: float | None = None


class Memory:
    """Past interactions of one knowledge base; every visitor has a memory of their own."""

    def __init__(self, services: Services, scope: Scope, name: str) -> None:
        self._services = services
        self._database = services.database
        self._base_id = scope.base_id
        self._name = name
        self._scope = scope

    @operation("guest")
    def record(self, connection: Connection, turn_id: int, answer: Answer) -> None:
        """Note what became of a turn, in the transaction that stores its answer.

        Its vector is kept where the search of this turn made it: no model is asked.
        """
        question = answer.trace.question
        rows.record(
            connection,
            turn_id,
            question=storable(question),
            answer=storable(answer.text),
            outcome=_OUTCOMES.get(answer.status, answer.status),
            rewritten=bool(answer.trace.typed),
            sources=self._sources(answer),
        )
        name = rows.embedder_of(connection, turn_id)
        if name is None or answer.status == "failed":
            return
        with contextlib.suppress(TouchstoneError):  # made when it is needed
            embedder = self._services.models.embedder(name)
            vector = self._services.queries.find(embedder, question)
            if vector is not None:
                rows.store_vectors(connection, embedder.id, {turn_id: vector.tobytes()})

    def _sources(self, answer: Answer) -> list[CitedSpan]:
        return [
            CitedSpan(
                hit.chunk.document_id,
                hit.document,
                hit.chunk.start,
                hit.chunk.end,
                rows.hash_of(hit.chunk.text),
                "" if hit.base == self._name else hit.base,
            )
            for hit in (citation.hit for citation in answer.citations)
        ]

    @operation("guest")
    def examples(
        self,
        question: str,
        recipe: Recipe,
        *,
        turn: int | None = None,
        without: Collection[str] = (),
    ) -> tuple[Example, ...]:
        """The past interactions that a recipe shows a model with a question, best first.

        They were answered with citations, have no thumb down, are similar enough, and their
        sources are as they were. None where the recipe asks for none, or asks no model. What was
        said in the conversation of ``turn`` is history, no example; ``without`` are questions to
        leave out. Raises ProviderError.
        """
        limit = recipe.answer.memory
        if not limit or recipe.answer.provider == "extractive":
            return ()
        name = recipe.index.embedder
        least = least_similarity(providers.default_threshold(name))
        neighbours = self._nearest(question, name, least, successful=True)
        chosen = list[Example]()
        with self._database.read() as connection:
            conversation = rows.conversation_of(connection, turn)
            for neighbour in distinct(neighbours, without):
                if len(chosen) == limit:
                    break
                interaction = rows.get(connection, self._scope, neighbour.turn)
                remembered = self._remembered(connection, interaction)
                if interaction.conversation != conversation and remembered.standing == "usable":
                    chosen.append(replace(neighbour, answer=interaction.answer))
        return tuple(chosen)

    @operation("guest")
    def count(self) -> int:
        """Return the number of stored interactions."""
        return self._database.fetch(rows.count, self._scope)

    @operation("viewer")
    def list_all(self, limit: int = 50, offset: int = 0) -> list[Remembered]:
        """Return stored interactions, newest first."""
        with self._database.read() as connection:
            interactions = rows.list_interactions(connection, self._scope, limit, offset)
            return [self._remembered(connection, interaction) for interaction in interactions]

    @operation("viewer")
    def search(self, text: str, recipe: Recipe, limit: int = 20) -> list[Remembered]:
        """Return stored interactions by the similarity of their question to ``text``.

        Raises InvalidInput for an empty text, ProviderError.
        """
        if not text.strip():
            raise InvalidInput("There is nothing to look for.", "Type a question.")
        neighbours = self._nearest(text.strip(), recipe.index.embedder, successful=False)
        nearest = sorted(
            neighbours, key=lambda neighbour: (-neighbour.similarity, -neighbour.turn)
        )[:limit]
        with self._database.read() as connection:
            interactions = rows.find_by_turns(
                connection, self._scope, [neighbour.turn for neighbour in nearest]
            )
            return [
                self._remembered(connection, interactions[neighbour.turn], neighbour.similarity)
                for neighbour in nearest
                if neighbour.turn in interactions
            ]

    @operation("guest")
    def get(self, turn_id: int) -> Remembered:
        """One of them. Raises NotFound."""
        with self._database.read() as connection:
            interaction = rows.get(connection, self._scope, turn_id)
            return self._remembered(connection, interaction)

    @operation("viewer", audit="conversation")
    def correct(
        self,
        turn_id: int,
        *,
        question: str | None = None,
        answer: str | None = None,
    ) -> None:
        """Replace what is remembered; the turn itself stays as it was. A corrected interaction
        counts as answered. Raises NotFound, InvalidInput for empty words."""
        with self._database.write() as connection:
            interaction = rows.get(connection, self._scope, turn_id)
            words = [
                storable(interaction.question if question is None else question).strip(),
                storable(interaction.answer if answer is None else answer).strip(),
            ]
            if not all(words):
                raise InvalidInput(
                    "Question and answer need words.", "Delete the interaction to forget it."
                )
            rows.correct(connection, turn_id, *words)

    @operation("viewer", audit="conversation")
    def delete(self, turn_id: int) -> None:
        """Forget one. Raises NotFound."""
        with self._database.write() as connection:
            rows.get(connection, self._scope, turn_id)
            rows.remove(connection, turn_id)

    def _remembered(
        self, connection: Connection, interaction: Interaction, similarity: float | None = None
    ) -> Remembered:
        changed = rows.changed_sources(connection, self._base_id, interaction.sources)
        gone = tuple(sorted({source.document for source in changed}))
        return Remembered(interaction, _standing(interaction, stale=bool(gone)), gone, similarity)

    def _nearest(
        self,
        question: str,
        embedder_name: str,
        least: float = -1.0,
        *,
        successful: bool,
    ) -> list[Example]:
        embedder = self._services.remembering(embedder_name)
        stored = self._database.fetch(
            rows.vectors, self._scope, embedder.id, MOST, successful=successful
        )
        if not stored:
            return []
        query_vector = embedder.embed([question], "query")[0]
        vectors_by_turn = {row.turn: row.data for row in stored if row.data is not None}
        new = {row.turn: row.question for row in stored if row.data is None}
        if new:
            embedded = embedder.embedder.embed(list(new.values()), "query")
            vectors_by_turn |= {
                turn: row.tobytes() for turn, row in zip(new, embedded, strict=True)
            }
            self._database.execute(
                rows.store_vectors, embedder.id, {turn: vectors_by_turn[turn] for turn in new}
            )
        matrix = np.frombuffer(b"".join(vectors_by_turn[row.turn] for row in stored), np.float32)
        return ranked(query_vector, matrix.reshape(len(stored), -1), stored, least)


def _standing(interaction: Interaction, *, stale: bool) -> Standing:
    if interaction.outcome != ANSWERED:
        return "not answered"
    if interaction.thumb < 0:
        return "thumb down"
    if not interaction.sources:
        return "no source"
    return "stale" if stale else "usable"


def least_similarity(threshold: float) -> float:
    """The cosine from which two questions count as alike: half-way between threshold and 1.

    ``threshold`` is what a passage needs to be relevant to a question, which is less: cosines of
    models differ, and so does this, by embedder.
    """
    return (1 + threshold) / 2


def ranked(
    question: Vectors,
    vectors: Vectors,
    interactions: Sequence[Vectored],
    least: float = -1.0,
) -> list[Example]:
    """``interactions`` with ``vectors`` of shape (n, dimension), best first.

    The score is the cosine of the two questions, plus ``THUMB_UP`` with a thumb up; those below
    ``least`` by their cosine are left out. Equal scores: the newer one first.
    """
    if not interactions:
        return []
    cosines = (vectors @ question).astype(float)
    neighbours = [
        Example(
            interaction.turn,
            interaction.question,
            cosine,
            cosine + THUMB_UP * max(interaction.thumb, 0),
            interaction.thumb,
        )
        for interaction, cosine in zip(interactions, np.clip(cosines, -1, 1).tolist(), strict=True)
        if cosine >= least
    ]
    return sorted(neighbours, key=lambda neighbour: (-neighbour.score, -neighbour.turn))


def distinct(neighbours: Sequence[Example], without: Collection[str] = ()) -> Iterator[Example]:
    """Each question once, in its best place; none of ``without``. Case and blanks do not count."""
    seen = {_folded(text) for text in without}
    for neighbour in neighbours:
        if _folded(neighbour.question) not in seen:
            seen.add(_folded(neighbour.question))
            yield neighbour


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
