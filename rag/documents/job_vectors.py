"""The vectors that a job makes beside its other work, with what it tells of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from rag.documents.embedding_ahead import EmbeddingAhead
from rag.documents.ingestion import Ingestion
from rag.documents.remaining_time import RemainingTime
from rag.documents.throughput import embedding_work
from rag.errors import InvalidRecipe, ProviderError, StorageError, TouchstoneError
from rag.services import Services
from rag.storage import jobs as rows
from rag.storage.shared.claims import Claims

log = logging.getLogger(__name__)

_POLL = 0.1
_VECTORS = "vectors"  # of a build, for all items together


class JobVectors:
    """A maker of the vectors that documents of a base wait for, whichever job read them."""

    def __init__(
        self,
        services: Services,
        job_id: int,
        ingestion: Ingestion,
        forecast: RemainingTime,
        say: Callable[[str], None],
        claims: Claims,
        between: Callable[[], None],
    ) -> None:
        """``say`` hears what is done now; other workers have ``claims`` of their own.

        ``between`` is called between two batches of the ``rest``.
        """
        self._between = between
        self._database = services.database
        self._job_id = job_id
        self._ahead = EmbeddingAhead(
            services.database, ingestion.base_id, ingestion.embedder, claims, ingestion.breadth
        )
        recipes = ingestion.recipes()
        self._recipes = {recipe.hash: recipe for recipe in recipes}
        self._steps = embedding_work(recipes)
        self._forecast = forecast
        self._say = say
        self._done: dict[str, float] = {}  # characters of text whose vectors came, by build
        for build_hash, work in self._steps.items():
            forecast.add((_VECTORS, build_hash), "all", 0, work)
        for item in {item.id: item for item in self._ahead.waiting()}.values():
            forecast.add(item.id, "text", item.characters, {})

    def some(self) -> bool:
        """Make about a second's worth; False where there is nothing to do."""
        done = self._ahead.some(self._at)
        if done is None:
            return False
        before = self._done.get(done.build_hash, 0.0)
        self._done[done.build_hash] = before + done.characters
        self._at(done.build_hash)
        self._forecast.pause()
        if done.names:
            one = len(done.names) == 1
            names = done.names[0] if one else f"{len(done.names):,} documents"
            answers = "it answers" if one else "they answer"
            self._say(f"{names}: embedding; lexical search already finds {answers}")
        return True

    def rest(self) -> bool:
        """Make all that are left; whether any were made since the job began.

        Returns when those that other workers have claimed are in, too.
        """
        while True:
            if self.some():
                self._between()
                continue
            if not self._ahead.elsewhere:
                break
            self._say("other workers are embedding")
            time.sleep(_POLL)
        for build_hash in self._steps:
            self._forecast.end((_VECTORS, build_hash))
        return bool(self._done)

    def _at(self, build_hash: str) -> None:
        """Notes how far the vectors of a build are; one that is new is not in the forecast."""
        self._forecast.pause()
        for step in self._steps.get(build_hash, ()):
            done, total = self._done.get(build_hash, 0.0), self._forecast.characters()
            self._forecast.reached((_VECTORS, build_hash), step, min(done, total), total)

    def note_what_lacks(self) -> int:
        """Note each document of a failed embedder, which only lexical search finds; how many."""
        why: dict[str, tuple[str, TouchstoneError]] = {}
        for waiting in self._ahead.waiting():
            if waiting.build_hash in self._ahead.failed and waiting.build_hash in self._recipes:
                embedder = self._recipes[waiting.build_hash].embedder
                why.setdefault(waiting.name, (embedder, self._ahead.failed[waiting.build_hash]))
        if not why:
            return 0
        with self._database.write() as connection:
            for item in rows.items(connection, self._job_id):
                if item.name in why and item.status in ("added", "replaced"):
                    embedder, error = why[item.name]
                    words = (
                        f"only lexical search finds it in the build with {embedder}: "
                        f"{error.message}"
                    )
                    reason = "; ".join(filter(None, (item.reason, words)))
                    place = self._job_id, item.position, item.status, reason, error.hint
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
