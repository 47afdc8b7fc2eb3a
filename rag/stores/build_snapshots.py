"""Snapshots of a build whose rows are on a server.

A server keeps one state, and readers keep several: a reader that began before a change continues
with the rows that existed then. Older snapshots do not see new rows, and old rows stay until no
snapshot needs them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Protocol
from weakref import WeakSet

import numpy as np

from rag.errors import StorageError
from rag.types import Keys, Mask, Scores

log = logging.getLogger(__name__)

_NONE = np.empty(0, np.int64)


class RowServer(Protocol):
    """The part of a server that this needs."""

    def keys(self, build: str) -> Keys: ...

    def delete(self, build: str, keys: Keys) -> None: ...


@dataclass(frozen=True, eq=False)
class BuildSnapshot:
    """The ``keys`` of a build at one moment, in order, each once.

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
        """Deletes from the server what is gone and nobody reads; the rest waits for the next time.

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
