"""Vectors for documents that are stored already and answer by words until theirs are in.

What waits is written in the database: whoever comes next goes on where a killed process was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

from rag.errors import Cancelled, StorageError, TouchstoneError
from rag.indexing.vector_cache import vectors_for
from rag.protocols import Embedder
from rag.storage import Database, bases, builds, passages, vectors
from rag.storage.builds import Waiting

log = logging.getLogger(__name__)

_DOCUMENTS = 64  # looked at for one batch
_LEAST_AT_ONCE, _MOST_AT_ONCE = 32, 512  # texts; more are quicker, because batches go by length
_QUICK_SECONDS, _SLOW_SECONDS = 0.5, 2.0


class AtOnce:
    """How many texts are embedded at once: so many that it takes about a second."""

    def __init__(self) -> None:
        self.texts = _LEAST_AT_ONCE

    def took(self, texts: int, seconds: float) -> None:
        """Learns from a batch."""
        if seconds < _QUICK_SECONDS and texts >= self.texts:
            self.texts = min(2 * self.texts, _MOST_AT_ONCE)
        elif seconds > _SLOW_SECONDS:
            self.texts = max(self.texts // 2, _LEAST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A batch whose vectors came in: for which build and documents (names), of how much text.

    ``finished`` are the documents that lack none any more.
    """

    build_hash: str
    names: tuple[str, ...]
    characters: int
    finished: tuple[Waiting, ...]


class EmbeddingAhead:
    """Embeds what waits in a knowledge base, about a second's worth at a time."""

    def __init__(
        self, database: Database, base_id: int, embedder: Callable[[str], Embedder]
    ) -> None:
        self._database = database
        self._base_id = base_id
        self._embedder = embedder
        self._at_once = AtOnce()
        self.failed: dict[str, TouchstoneError] = {}
        """Builds, by hash, whose embedder failed: they wait for another job."""

    def waiting(self) -> list[Waiting]:
        """The documents that lack vectors: those of the saved recipe first, then small ones."""
        with self._database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe.index.hash
            found = builds.waiting(connection, self._base_id)
        return sorted(found, key=lambda each: each.build_hash != saved)

    def some(self, begins: Callable[[str], None]) -> Embedded | None:
        """Embeds the next batch; None where nothing waits whose embedder works.

        ``begins`` hears of which build, before the work.
        """
        for build_hash in dict.fromkeys(each.build_hash for each in self.waiting()):
            if build_hash in self.failed:
                continue
            try:
                begins(build_hash)
                if done := self._batch(build_hash):
                    return done
            except (Cancelled, StorageError):
                raise
            except TouchstoneError as error:
                log.warning("Build %s lacks vectors: %s", build_hash, error)
                self.failed[build_hash] = error
        return None

    def _batch(self, build_hash: str) -> Embedded | None:
        with self._database.read() as connection:
            every = builds.waiting(connection, self._base_id)
            mine = [each for each in every if each.build_hash == build_hash][:_DOCUMENTS]
            recipe = builds.recipe(connection, self._base_id, build_hash)
            if recipe is None or not mine:
                return None  # deleted meanwhile
            embedder = self._embedder(recipe.embedder)
            ids = [each.id for each in mine]
            place = self._base_id, build_hash, embedder.id
            texts = passages.unembedded(connection, *place, ids, self._at_once.texts)
        started = time.monotonic()
        new = vectors_for(embedder, [each.indexed_text for each in texts])
        self._at_once.took(len(texts), time.monotonic() - started)
        with self._database.write() as connection:
            bases.hold(connection, self._base_id)  # whoever deletes documents comes before or after
            vectors.store(connection, embedder.id, new)
            vectors.forget(connection, list(new))  # of documents that went meanwhile
            done = set(builds.end_waiting(connection, *place, ids))
            if done:
                bases.touch(connection, self._base_id)
        names = {each.id: each.name for each in mine}
        return Embedded(
            build_hash,
            tuple(dict.fromkeys(names[each.document_id] for each in texts)),
            sum(each.characters for each in texts),
            tuple(each for each in mine if each.id in done),
        )
