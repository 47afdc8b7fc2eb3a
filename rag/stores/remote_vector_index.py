"""A build whose vectors are on a server, used like an index."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Protocol
from weakref import WeakSet

import numpy as np

from rag.errors import StorageError
from rag.protocols import VectorServer
from rag.stores.given import check_dimension, check_vectors
from rag.types import Keys, Mask, Scores, Vectors

_NONE = np.empty(0, np.int64)


class RowServer(Protocol):
    """The part of a server that this needs."""

    def keys(self, build: str) -> Keys: ...

    def delete(self, build: str, keys: Keys) -> None: ...


@dataclass(frozen=True, eq=False)
class BuildSnapshot:
    """The ``keys`` of a build at one moment, in order, each once.

    A server keeps one state, and readers keep several: a reader that began before a change
    continues with the rows that existed then. Older snapshots do not see new rows, and old rows
    stay until no snapshot needs them.

    ``_living`` has the moments of this build that somebody holds, and ``_gone`` the keys that the
    server still has though a later moment does not, with when they went; both are shared. Changes
    are made by one thread at a time.
    """

    server: RowServer
    build: str
    keys: Keys
    _living: WeakSet[BuildSnapshot] = field(default_factory=WeakSet, repr=False)
    _gone: list[tuple[float, Keys]] = field(default_factory=list, repr=False)

    def __post_init__(self) -> None:
        self._living.add(self)

    @classmethod
    def of(cls, server: RowServer, build: str, keys: Keys = _NONE) -> BuildSnapshot:
        """A first moment; what the server has besides ``keys`` is gone.

        Raises ValueError where the server has lost some, StorageError.
        """
        server_keys, own_keys = server.keys(build), np.unique(keys)
        if len(np.setdiff1d(own_keys, server_keys)):
            raise ValueError(f"The server has lost passages of build {build}.")
        return cls(
            server, build, own_keys, _gone=[(monotonic(), np.setdiff1d(server_keys, own_keys))]
        )

    @classmethod
    def load(cls, server: RowServer, build: str, folder: Path | str) -> BuildSnapshot:
        """Load a snapshot that ``save`` wrote.

        Raises OSError, ValueError as ``of`` does, StorageError.
        """
        return cls.of(server, build, np.load(Path(folder) / "served.npy", allow_pickle=False))

    def save(self, folder: Path | str) -> None:
        """Notes in an existing, empty folder what is on the server. Raises OSError."""
        np.save(Path(folder) / "served.npy", self.keys, allow_pickle=False)

    def holds(self, keys: Keys) -> Mask:
        """Return a mask of the ``keys`` that the snapshot contains, shape (n,)."""
        if not len(self.keys):
            return np.zeros(len(keys), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.asarray(self.keys[at] == keys)

    def first(self, k: int, search: Callable[[int], tuple[Keys, Scores]]) -> tuple[Keys, Scores]:
        """The first ``k`` of this moment that ``search(depth)`` finds, whatever else it finds."""
        depth = k
        while True:
            keys, scores = search(depth)
            is_own = self.holds(keys)
            if len(keys) < depth or np.count_nonzero(is_own) >= k:
                return keys[is_own][:k], scores[is_own][:k]
            depth = k + 2 * int(np.count_nonzero(~is_own))

    def among(self, keys: Keys | None) -> Keys | None:
        """Return the ``keys`` that are there; None stays None."""
        return keys if keys is None else keys[self.holds(keys)]

    def plus(self, keys: Keys) -> BuildSnapshot:
        """A later moment, after ``keys`` were put on the server."""
        return replace(self, keys=np.union1d(self.keys, keys))

    def minus(self, keys: Keys) -> BuildSnapshot:
        """A later moment without ``keys``, which stay on the server until it is tidied."""
        self._gone.append((monotonic(), keys[self.holds(keys)]))
        return replace(self, keys=np.setdiff1d(self.keys, keys))

    def due(self, grace: float = 0.0) -> bool:
        """Whether ``tidy`` would find anything that is gone."""
        latest = monotonic() - grace
        return any(len(keys) and since <= latest for since, keys in self._gone)

    def tidy(self, grace: float = 0.0) -> None:
        """Delete from the server what is gone and nobody reads; the rest waits for the next time.

        What went less than ``grace`` seconds ago stays too: other processes may read it. Searches
        go on where the server fails: what is gone is passed over.
        """
        latest = monotonic() - grace
        young = [(since, keys) for since, keys in self._gone if since > latest]
        old = [keys for since, keys in self._gone if since <= latest]
        gone = np.setdiff1d(np.concatenate([_NONE, *old]), self.keys)
        read = np.concatenate([_NONE, *(snapshot.keys for snapshot in self._living)])
        unread = np.setdiff1d(gone, read) if len(gone) else gone
        try:
            if len(unread):
                self.server.delete(self.build, unread)
        except StorageError:
            log.warning("Removed passages of build %s stay.", self.build, exc_info=True)
            unread = _NONE
        self._gone[:] = [*young, (-math.inf, np.setdiff1d(gone, unread))]


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
        """Settle, and note in an existing, empty folder what is on the server. Raises OSError."""
        self.settle()
        self.snapshot.save(folder)

    @property
    def settled(self) -> bool:
        """True: a process that changes documents settles at the end, once for all processes."""
        return True

    def settle(self) -> None:
        """Let the server make what its searches are quick by."""
        try:
            self.server.settle(self.snapshot.build)
        except StorageError:  # searches go on, more slowly
            log.warning("Build %s is not settled.", self.snapshot.build, exc_info=True)


def _blocks(rows: Keys) -> Iterator[Keys]:
    return (rows[start : start + _BLOCK] for start in range(0, len(rows), _BLOCK))
