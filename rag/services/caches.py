"""Caches bounded by the size of their values, and vectors by text.

Vectors are filled in by embedding what is new, or from a file.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence, Sized
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from rag.protocols import Embedder
from rag.storage import Database, vectors

Value = TypeVar("Value", bound=Sized)


class SizedCache(Generic[Value]):
    """A least-recently-used cache whose values have at most ``most`` entries together.

    Callers must not change a value. The latest value stays whatever its size. Safe to share between
    threads, two of which may read the same value.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[Hashable, Value] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, read: Callable[[], Value]) -> Value:
        """Return the value of a key; call ``read`` if it is not cached."""
        with self._lock:
            cached = self._values.get(key)
        value = read() if cached is None else cached
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > 1 and self._size() > self._most:
                self._values.popitem(last=False)
        return value

    def _size(self) -> int:
        return sum(1 + len(value) for value in self._values.values())


def uncached(database: Database, embedder: Embedder, texts: Sequence[str]) -> dict[bytes, str]:
    """Return the texts whose vector is not cached yet, by their hash."""
    by_hash = {vectors.text_hash(text): text for text in texts}
    cached = database.fetch(vectors.find_cached_hashes, embedder.id, list(by_hash))
    return {key: text for key, text in by_hash.items() if key not in cached}


def cache_vectors(database: Database, embedder: Embedder, texts: Sequence[str]) -> int:
    """Embed those texts whose vector is not cached yet; return how many that were."""
    new = uncached(database, embedder, texts)
    if new:
        data = vectors_for(embedder, list(new.values()))
        database.execute(vectors.store, embedder.id, data)
    return len(new)


def vectors_for(embedder: Embedder, texts: Sequence[str]) -> dict[bytes, bytes]:
    """The vectors of texts as the cache has them, each text embedded once; nothing is stored."""
    by_hash = {vectors.text_hash(text): text for text in texts}
    if not by_hash:
        return {}
    rows = embedder.embed(list(by_hash.values()), "document")
    return {key: row.tobytes() for key, row in zip(by_hash, rows, strict=True)}


def import_vectors(database: Database, path: Path) -> None:
    """Fill the cache from a file that ``export_vectors`` wrote."""
    with np.load(path) as file:
        embedder, hashes = str(file["embedder"]), file["hashes"]
        rows = {key.tobytes(): row.tobytes() for key, row in zip(hashes, file["rows"], strict=True)}
    database.execute(vectors.store, embedder, rows)


def export_vectors(database: Database, embedder: str, path: Path) -> int:
    """Write the cached vectors of an embedder, as float32, by text hash; return how many."""
    rows = database.fetch(vectors.list_cached_vectors, embedder)
    np.savez_compressed(
        path,
        embedder=embedder,
        hashes=np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1),
        rows=np.frombuffer(b"".join(rows.values()), np.float32).reshape(len(rows), -1),
    )
    return len(rows)
