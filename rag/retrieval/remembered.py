"""A vector store that remembers what it found, for questions that are asked again and again."""

from __future__ import annotations

from dataclasses import dataclass, field

from rag.protocols import VectorStore
from rag.types import Keys, Scores, Vectors

_MOST = 20_000  # searches; each holds a few kilobytes

_Asked = tuple[bytes, int]
_Answer = tuple[int, Keys | None, Keys, Scores]


@dataclass(frozen=True, slots=True)
class Remembered:
    """Searches of ``store``. Of an ``exact`` one a deep search answers every shallower one.

    Not to be shared between threads.
    """

    store: VectorStore
    exact: bool
    _found: dict[_Asked, _Answer] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Number of vectors that can be found."""
        return len(self.store)

    def search(self, query: Vectors, k: int, allowed: Keys | None = None) -> tuple[Keys, Scores]:
        """What the store finds; the arrays are shared and not to be written to."""
        asked = query.tobytes(), id(allowed)
        depth, _, keys, scores = self._found.get(asked, (-1, None, None, None))
        if keys is None or scores is None or depth < k or not (self.exact or depth == k):
            keys, scores = self.store.search(query, k, allowed)
            if len(self._found) >= _MOST:
                self._found.clear()
            self._found[asked] = k, allowed, keys, scores  # holds allowed: its id is not reused
        return keys[:k], scores[:k]

    def vectors(self, keys: Keys) -> Vectors:
        """Stored vectors of ``keys``."""
        return self.store.vectors(keys)

    def added(self, keys: Keys, vectors: Vectors) -> VectorStore:
        """The plain store with more vectors."""
        return self.store.added(keys, vectors)

    def removed(self, keys: Keys) -> VectorStore:
        """The plain store without some."""
        return self.store.removed(keys)

    def save(self, folder: str) -> None:
        """Writes the store."""
        self.store.save(folder)
