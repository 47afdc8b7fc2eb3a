"""A build whose vectors are on a server, used like an index."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from rag.errors import StorageError
from rag.protocols import VectorServer
from rag.stores.build_snapshots import BuildSnapshot
from rag.stores.given import check_dimension, check_vectors
from rag.types import Keys, Scores, Vectors

log = logging.getLogger(__name__)

_BLOCK = 4096  # vectors in one request


@dataclass(frozen=True, eq=False)
class RemoteVectorIndex:
    """The vectors of a build on ``server`` as one moment holds them.

    A key must always have the same vector in a build, as it has where a build is named after the
    passages and the model: then additions change nothing that an older moment sees.
    """

    server: VectorServer
    dimension: int
    snapshot: BuildSnapshot

    @classmethod
    def empty(cls, server: VectorServer, build: str, dimension: int) -> RemoteVectorIndex:
        """A build anew; what the server has of it is replaced, and then deleted. StorageError."""
        return cls(server, dimension, BuildSnapshot.of(server, build))

    @classmethod
    def load(
        cls, server: VectorServer, build: str, dimension: int, folder: str
    ) -> RemoteVectorIndex:
        """Load an index that ``save`` wrote.

        Raises OSError, or ValueError if the server has lost rows.
        """
        return cls(server, dimension, BuildSnapshot.load(server, build, folder))

    @property
    def exact(self) -> bool:
        """Whether the server finds the very nearest."""
        return self.server.exact

    def __len__(self) -> int:
        """Number of vectors that can be found."""
        return len(self.snapshot.keys)

    def added(self, keys: Keys, vectors: Vectors) -> RemoteVectorIndex:
        """A later moment that also holds ``vectors``, which are on the server from now on.

        Raises InvalidInput for vectors of another dimension or number, StorageError.
        """
        names, rows, kept_rows = check_vectors(keys, vectors, self.dimension)
        for part in _blocks(kept_rows):
            self.server.upsert(self.snapshot.build, names[part], rows[part])
        return replace(self, snapshot=self.snapshot.plus(names))

    @property
    def bytes(self) -> int:
        """About how much memory of this process it takes: the vectors are elsewhere."""
        return self.snapshot.keys.nbytes

    def removed(self, keys: Keys) -> RemoteVectorIndex:
        """A later moment without ``keys``; ``moment.tidy`` deletes them when nobody reads them."""
        return replace(self, snapshot=self.snapshot.minus(np.asarray(keys, dtype=np.int64)))

    def search(self, query: Vectors, k: int, allowed: Keys | None = None) -> tuple[Keys, Scores]:
        """The k nearest of this moment: whatever else the server has is passed over.

        Raises InvalidInput for a query of another dimension, StorageError.
        """
        vector = np.ascontiguousarray(query, dtype=np.float32).reshape(-1)
        check_dimension(len(vector), self.dimension)
        if k < 1 or not len(self):
            return np.empty(0, dtype=np.int64), np.empty(0)
        build, choice = self.snapshot.build, self.snapshot.among(allowed)
        return self.snapshot.first(k, lambda n: self.server.search(build, vector, n, choice))

    def vectors(self, keys: Keys) -> Vectors:
        """Vectors of ``keys``, in their order, fetched in blocks.

        Raises KeyError for an unknown key, StorageError.
        """
        names = np.asarray(keys, dtype=np.int64)
        is_own = self.snapshot.holds(names)
        if not is_own.all():
            raise KeyError(int(names[~is_own][0]))
        result = np.empty((len(names), self.dimension), dtype=np.float32)
        for part in _blocks(np.arange(len(names))):
            result[part] = self._fetched(names[part])
        return result

    def _fetched(self, keys: Keys) -> Vectors:
        try:
            return self.server.vectors(self.snapshot.build, keys)
        except KeyError as error:  # another process has removed it, or the server lost it
            raise StorageError(
                f"The vector server lacks passage {error}.",
                "Ask again. If that does not help, restart: what is missing is then put back.",
            ) from error

    def save(self, folder: str) -> None:
        """Settles, and notes in an existing, empty folder what is on the server. Raises OSError."""
        self.settle()
        self.snapshot.save(folder)

    @property
    def settled(self) -> bool:
        """True: a process that changes documents settles at the end, once for all processes."""
        return True

    def settle(self) -> None:
        """Lets the server make what its searches are quick by."""
        try:
            self.server.settle(self.snapshot.build)
        except StorageError:  # searches go on, more slowly
            log.warning("Build %s is not settled.", self.snapshot.build, exc_info=True)


def _blocks(rows: Keys) -> Iterator[Keys]:
    return (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
