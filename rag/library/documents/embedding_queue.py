"""Texts to embed: documents that are stored already answer by words until their vectors are in.

What waits is written in the database: the next process continues where a killed one was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from rag.errors import Cancelled, InvalidRecipe, ProviderError, StorageError, TouchstoneError
from rag.library.documents.ingestion import Ingestion
from rag.library.documents.remaining_time import RemainingTime, embedding_work
from rag.protocols import Embedder
from rag.services.services import Services, uncached, vectors_for
from rag.storage import Database, bases, builds, passages, vectors
from rag.storage import jobs as rows
from rag.storage.builds import Waiting
from rag.storage.leases import Claims
from rag.storage.passages import Unembedded

log = logging.getLogger(__name__)

_POLL = 0.1
_DOCUMENTS = 512  # looked at together
_SHARED = 64  # passages of a document that are claimed together
_MOST_CLAIMS = 128
_BATCHES_FETCHED = 8  # more would let small documents that come in wait
_VECTORS = "vectors"  # of a build, for all items of a job together


@dataclass(frozen=True, slots=True)
class _Queue:
    """Passages of a build in the order in which they are embedded, and their documents by id."""

    build_hash: str
    embedder: Embedder
    documents: Mapping[str, Waiting]
    texts: Sequence[Unembedded]
    claimed: Sequence[str] = ()


class EmbeddingQueue:
    """The texts of a knowledge base that lack vectors, embedded about a second's worth at a time.

    Of several workers on one database each embeds what it has claimed.
    """

    def __init__(
        self,
        database: Database,
        ingestion: Ingestion,
        claims: Claims,
        forecast: RemainingTime,
        say: Callable[[str], None] = lambda _message: None,
    ) -> None:
        """``say`` hears what is done now."""
        self._database = database
        self._base_id = ingestion.base_id
        self._embedder = ingestion.embedder
        self._batch_size = ingestion.batch_size
        self._claims = claims
        self._forecast = forecast
        self._say = say
        self._queue: _Queue | None = None
        self.elsewhere = False
        """Whether all that waits is claimed by others."""
        self.failed: dict[str, TouchstoneError] = {}
        """Builds, by hash, whose embedder failed: they wait for another job."""
        self._done: dict[str, float] = {}  # characters of text whose vectors came, by build
        recipes = ingestion.recipes()
        self._recipes = {recipe.hash: recipe for recipe in recipes}
        self._steps = embedding_work(recipes)
        for build_hash, work in self._steps.items():
            forecast.add((_VECTORS, build_hash), "all", 0, work)
        for item in {item.id: item for item in self.waiting()}.values():
            forecast.add(item.id, "text", item.characters, {})

    def waiting(self) -> list[Waiting]:
        """The documents that lack vectors: those of the saved recipe first, then small ones."""
        with self._database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe.index.hash
            items = builds.waiting(connection, self._base_id)
        return sorted(items, key=lambda item: item.build_hash != saved)

    def some(self) -> bool:
        """Embed the next batch; False where nothing waits whose embedder works."""
        self.elsewhere = False
        if self._queue is not None:
            return self._embed(self._queue) or self.some()
        for build_hash in dict.fromkeys(item.build_hash for item in self.waiting()):
            if build_hash not in self.failed and (queue := self._fetched(build_hash)):
                return self._embed(queue) or self.some()
        return False

    def rest(self, between: Callable[[], None]) -> bool:
        """Embed all that is left; whether anything was embedded since the queue was made.

        ``between`` is called between two batches. Returns when what other workers have claimed is
        in, too.
        """
        while True:
            if self.some():
                between()
                continue
            if not self.elsewhere:
                break
            self._say("other workers are embedding")
            time.sleep(_POLL)
        for build_hash in self._steps:
            self._forecast.end((_VECTORS, build_hash))
        return bool(self._done)

    def _fetched(self, build_hash: str) -> _Queue | None:
        """Return the next texts of a build that no other worker has claimed."""
        documents, most = _DOCUMENTS, _BATCHES_FETCHED * self._batch_size.texts
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
            if len(texts) >= 2 * self._batch_size.texts or len(claimed) >= _MOST_CLAIMS:
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

    def _embed(self, queue: _Queue) -> bool:
        """Embed the next batch of a queue; False where its embedder fails."""
        size = self._batch_size.texts
        texts, rest = queue.texts[:size], queue.texts[size:]
        self._queue = replace(queue, texts=rest) if rest else None
        started = time.monotonic()
        self._reached(queue.build_hash)
        try:
            new = vectors_for(queue.embedder, [passage.indexed_text for passage in texts])
        except (Cancelled, StorageError):
            raise
        except TouchstoneError as error:
            self._fails(queue.build_hash, error)
            self._claims.leave(queue.claimed)
            return False
        self._batch_size.took(len(texts), time.monotonic() - started)
        unfinished = {passage.document_id for passage in rest}
        document_ids = {passage.document_id for passage in texts} if texts else set(queue.documents)
        with self._database.write() as connection:
            bases.hold(connection, self._base_id)  # a deletion of documents comes before or after
            vectors.store(connection, queue.embedder.id, new)
            vectors.forget(connection, list(new))  # of documents that went meanwhile
            place = self._base_id, queue.build_hash, queue.embedder.id
            if builds.end_waiting(connection, *place, sorted(document_ids - unfinished)):
                bases.touch(connection, self._base_id)
        if not rest:
            self._claims.leave(queue.claimed)
        self._report(queue, texts)
        return True

    def _report(self, queue: _Queue, texts: Sequence[Unembedded]) -> None:
        characters = sum(passage.characters for passage in texts)
        self._done[queue.build_hash] = self._done.get(queue.build_hash, 0.0) + characters
        self._reached(queue.build_hash)
        self._forecast.pause()
        names = {queue.documents[passage.document_id].name for passage in texts}
        if names:
            title = names.pop() if len(names) == 1 else f"{len(names):,} documents"
            they = "they answer" if names else "it answers"
            self._say(f"{title}: embedding; lexical search already finds {they}")

    def _reached(self, build_hash: str) -> None:
        """Note how far the vectors of a build are; one that is new is not in the forecast."""
        self._forecast.pause()
        for step in self._steps.get(build_hash, ()):
            done, total = self._done.get(build_hash, 0.0), self._forecast.characters()
            self._forecast.reached((_VECTORS, build_hash), step, min(done, total), total)

    def _fails(self, build_hash: str, error: TouchstoneError) -> None:
        log.warning("Build %s lacks vectors: %s", build_hash, error)
        self.failed[build_hash] = error
        self._queue = None

    def note_what_lacks(self, job_id: int) -> int:
        """Note each document of a failed embedder, which only lexical search finds; how many."""
        why: dict[str, tuple[str, TouchstoneError]] = {}
        for waiting in self.waiting():
            if waiting.build_hash in self.failed and waiting.build_hash in self._recipes:
                embedder = self._recipes[waiting.build_hash].embedder
                why.setdefault(waiting.name, (embedder, self.failed[waiting.build_hash]))
        if not why:
            return 0
        with self._database.write() as connection:
            for item in rows.items(connection, job_id):
                if item.name in why and item.status in ("added", "replaced"):
                    embedder, error = why[item.name]
                    words = (
                        f"only lexical search finds it in the build with {embedder}: "
                        f"{error.message}"
                    )
                    reason = "; ".join(filter(None, (item.reason, words)))
                    place = job_id, item.position, item.status, reason, error.hint
                    rows.set_item(connection, *place, chunks=item.chunks)
        return len(why)


def refresh(services: Services, base_id: int, say: Callable[[str], None]) -> None:
    """Bring the snapshots of all builds up to date, so that the next question is quick.

    ``say`` hears what is done now, again and again. Raises what it raises.
    """
    heed = partial(say, "bringing the index up to date")
    recipes = Ingestion(services.database, base_id, services.models.embedder).recipes()
    for recipe in recipes:
        try:
            heed()
            services.indexes.save(base_id, recipe, heed)
        except (InvalidRecipe, ProviderError, StorageError) as error:
            # A build that cannot be searched now keeps no document out; a search says why.
            log.warning("The index of build %s was not refreshed: %s", recipe.hash, error)
