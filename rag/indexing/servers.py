"""Where indexes are kept: in this process, or on servers that are handed in."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass

from rag import stores
from rag.errors import StorageError
from rag.lexical import LexicalIndex, LexicalServer
from rag.protocols import Embedder, VectorIndex, VectorServer
from rag.recipe import IndexRecipe
from rag.stores import ServedVectors, ServedWords

log = logging.getLogger(__name__)

Place = tuple[int, str]
"""A knowledge base and the hash of one of its builds."""
Words = LexicalIndex | ServedWords


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers of vectors and of words; None keeps them in this process."""

    vectors: VectorServer | None = None
    words: LexicalServer | None = None

    @property
    def absent(self) -> bool:
        """Whether everything is in this process."""
        return self.vectors is None and self.words is None

    def dense(
        self, place: Place, recipe: IndexRecipe, embedder: Embedder, folder: str | None = None
    ) -> VectorIndex:
        """The vectors of a snapshot in ``folder``, or an empty index where there is none.

        Raises OSError or ValueError for a snapshot that does not serve, StorageError.
        """
        kind, dimension = recipe.vector_index, embedder.dimension
        if self.vectors is None:
            return stores.load(kind, folder) if folder else stores.empty(kind, dimension)
        # Of another model the same passages have other vectors: it is another build to the server.
        build = _name(place) + hashlib.sha256(embedder.id.encode()).hexdigest()[:16]
        if folder is None:
            return ServedVectors.empty(self.vectors, build, dimension)
        return ServedVectors.load(self.vectors, build, dimension, folder)

    def lexical(self, place: Place, recipe: IndexRecipe, folder: str | None = None) -> Words:
        """The same for words."""
        name = recipe.analyzer
        if self.words is None:
            return LexicalIndex.load(folder) if folder else LexicalIndex.empty(name)
        if folder is None:
            return ServedWords.empty(self.words, _name(place), name)
        return ServedWords.load(self.words, _name(place), name, folder)

    @staticmethod
    def tidy(*indexes: VectorIndex | Words) -> None:
        """Deletes from servers what was removed and nobody reads any more."""
        for index in indexes:
            if isinstance(index, ServedVectors | ServedWords):
                index.moment.tidy()

    def forget(self, base_id: int, build_hash: str | None) -> None:
        """Drops a build, or all builds of a base. A server that is away keeps them."""
        for server in (self.vectors, self.words):
            try:
                if server is not None:
                    server.drop(_name((base_id, build_hash or "")))
            except StorageError:
                log.warning("Builds of base %d stay on their server.", base_id, exc_info=True)


IN_PROCESS = Servers()


def _name(place: Place) -> str:
    """What the builds of a place are called on a server, or how their names begin."""
    base_id, build_hash = place
    return f"{base_id}/{build_hash}/" if build_hash else f"{base_id}/"
