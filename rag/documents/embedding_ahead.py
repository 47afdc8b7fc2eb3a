"""Vectors for documents that are stored already and answer by words until theirs are in.

What waits is written in the database: the next process continues where a killed one was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from rag.errors import Cancelled, StorageError, TouchstoneError
from rag.indexing.vector_cache import uncached, vectors_for
from rag.protocols import Embedder
from rag.storage import Database, bases, builds, passages, vectors
from rag.storage.builds import Waiting
from rag.storage.passages import Unembedded
from rag.storage.shared.claims import Claims

log = logging.getLogger(__name__)

_DOCUMENTS = 512  # looked at together
_SHARED = 64  # passages of a document that are claimed together
_MOST_CLAIMS = 128
_BATCHES_FETCHED = 8  # more would let small documents that come in wait
_LEAST_AT_ONCE, _MOST_AT_ONCE = 32, 512  # texts; more are quicker, because batches go by length
_QUICK_SECONDS, _SLOW_SECONDS = 0.5, 2.0


class AtOnce:
    """An adaptive batch size for embedding, chosen so that a batch takes about a second."""

    def __init__(self, breadth: int = 1) -> None:
        """``breadth`` is how many texts are embedded at the same time, on a cluster."""
        self.texts = _LEAST_AT_ONCE
        self._most = _MOST_AT_ONCE * breadth

    def took(self, texts: int, seconds: float) -> None:
        """Learn from a batch."""
        if seconds < _QUICK_SECONDS and texts >= self.texts:
            self.texts = min(2 * self.texts, self._most)
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


@dataclass(frozen=True, slots=True)
class _Queue:
    """Passages of a build in the order in which they are embedded, and their documents by id."""

    build_hash: str
    embedder: Embedder
    documents: Mapping[str, Waiting]
    texts: Sequence[Unembedded]
    claimed: Sequence[str] = ()


class EmbeddingAhead:
    """An embedder of what waits in a knowledge base, about a second's worth at a time.

    Of several workers on one database each embeds what it has claimed.
    """

    def __init__(
        self,
        database: Database,
        base_id: int,
        embedder: Callable[[str], Embedder],
        claims: Claims | None = None,
        breadth: int = 1,
    ) -> None:
        """``breadth`` is that of ``AtOnce``."""
        self._claims = claims or Claims(database)
        self.elsewhere = False
        """Whether all that waits is claimed by others."""
        self._database = database
        self._base_id = base_id
        self._embedder = embedder
        self._at_once = AtOnce(breadth)
        self._queue: _Queue | None = None
        self.failed: dict[str, TouchstoneError] = {}
        """Builds, by hash, whose embedder failed: they wait for another job."""

    def waiting(self) -> list[Waiting]:
        """The documents that lack vectors: those of the saved recipe first, then small ones."""
        with self._database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe.index.hash
            items = builds.waiting(connection, self._base_id)
        return sorted(items, key=lambda item: item.build_hash != saved)

    def some(self, begins: Callable[[str], None]) -> Embedded | None:
        """Embed the next batch; None where nothing waits whose embedder works.

        ``begins`` hears of which build, before the work.
        """
        self.elsewhere = False
        if self._queue is not None:
            return self._embedded(self._queue, begins) or self.some(begins)
        for build_hash in dict.fromkeys(item.build_hash for item in self.waiting()):
            if build_hash not in self.failed and (queue := self._fetched(build_hash)):
                return self._embedded(queue, begins) or self.some(begins)
        return None

    def _fetched(self, build_hash: str) -> _Queue | None:
        """Return the next texts of a build that no other worker has claimed."""
        documents, most = _DOCUMENTS, _BATCHES_FETCHED * self._at_once.texts
        refused = set[str]()
        while True:
            queue = self._listed(build_hash, documents, most)
            if queue is None or not (self._claims.shared and queue.texts):
                return queue
            claimed = self._claimed(queue, refused)
            is_complete = len(queue.documents) < documents and len(queue.texts) < most
            if claimed is not None or is_complete:
                self.elsewhere = self.elsewhere or claimed is None
                return claimed
            documents, most = 2 * documents, 2 * most  # others have the first of them

    def _listed(self, build_hash: str, most_documents: int, most_texts: int) -> _Queue | None:
        """The first that waits in a build, so much that the database is not asked for every
        batch."""
        with self._database.read() as connection:
            recipe = builds.recipe(connection, self._base_id, build_hash)
            items = builds.waiting(connection, self._base_id)
            mine = [item for item in items if item.build_hash == build_hash][:most_documents]
            if recipe is None or not mine:
                return None  # deleted meanwhile
            try:
                embedder = self._embedder(recipe.embedder)
            except TouchstoneError as error:
                self._fails(build_hash, error)
                return None
            ids = [item.id for item in mine]
            place = self._base_id, build_hash, embedder.id
            texts = passages.list_unembedded(connection, *place, ids, most_texts)
        return _Queue(build_hash, embedder, {item.id: item for item in mine}, texts)

    def _claimed(self, queue: _Queue, refused: set[str]) -> _Queue | None:
        """Claim about two batches of a queue; None if other workers have claimed all of it.

        Claims that were ``refused`` a moment ago are not requested again.
        """
        pieces: dict[str, list[Unembedded]] = {}
        for passage in queue.texts:
            piece_number = passage.order // _SHARED
            name = f"{self._base_id}/{queue.build_hash}/{passage.document_id}/{piece_number}"
            pieces.setdefault(name, []).append(passage)
        texts, claimed = list[Unembedded](), list[str]()
        for name, piece in pieces.items():
            if len(texts) >= 2 * self._at_once.texts or len(claimed) >= _MOST_CLAIMS:
                break
            if name not in refused and self._claims.take([name]):
                claimed.append(name)
                texts += piece
            else:
                refused.add(name)
        if not claimed:
            return None
        # Since they were listed, another process may have embedded some.
        lacking = uncached(
            self._database, queue.embedder, [passage.indexed_text for passage in texts]
        )
        missing = set(lacking.values())
        texts = [passage for passage in texts if passage.indexed_text in missing]
        return replace(queue, texts=texts, claimed=claimed)

    def _embedded(self, queue: _Queue, begins: Callable[[str], None]) -> Embedded | None:
        """Embed the next batch of a queue; None where its embedder fails."""
        texts, rest = queue.texts[: self._at_once.texts], queue.texts[self._at_once.texts :]
        self._queue = replace(queue, texts=rest) if rest else None
        started = time.monotonic()
        begins(queue.build_hash)
        try:
            new = vectors_for(queue.embedder, [passage.indexed_text for passage in texts])
        except (Cancelled, StorageError):
            raise
        except TouchstoneError as error:
            self._fails(queue.build_hash, error)
            self._claims.leave(queue.claimed)
            return None
        self._at_once.took(len(texts), time.monotonic() - started)
        unfinished = {passage.document_id for passage in rest}
        document_ids = {passage.document_id for passage in texts} if texts else set(queue.documents)
        done = self._stored(queue, new, sorted(document_ids - unfinished))
        if not rest:
            self._claims.leave(queue.claimed)
        return Embedded(
            queue.build_hash,
            tuple(dict.fromkeys(queue.documents[passage.document_id].name for passage in texts)),
            sum(passage.characters for passage in texts),
            tuple(queue.documents[document_id] for document_id in done),
        )

    def _stored(self, queue: _Queue, new: Mapping[bytes, bytes], ids: Sequence[str]) -> list[str]:
        """Return the documents that lack no vector any more."""
        with self._database.write() as connection:
            bases.hold(connection, self._base_id)  # a deletion of documents comes before or after
            vectors.store(connection, queue.embedder.id, new)
            vectors.forget(connection, list(new))  # of documents that went meanwhile
            place = self._base_id, queue.build_hash, queue.embedder.id
            done = builds.end_waiting(connection, *place, ids)
            if done:
                bases.touch(connection, self._base_id)
        return done

    def _fails(self, build_hash: str, error: TouchstoneError) -> None:
        log.warning("Build %s lacks vectors: %s", build_hash, error)
        self.failed[build_hash] = error
        self._queue = None
