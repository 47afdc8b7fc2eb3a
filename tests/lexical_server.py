"""A server of words in memory: an index for each build, replaced by every change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import Unpack

import numpy as np

from rag.errors import NotFound
from rag.lexical import Bm25Options, Explanation, LexicalIndex, Meant, Variants
from rag.types import Keys, Scores

Terms = Mapping[str, float]
NOTHING = LexicalIndex.empty("simple")


class WordsInMemory:
    """A ``LexicalServer``; ``deepest`` is the deepest search."""

    def __init__(self) -> None:
        self.builds: dict[str, LexicalIndex] = {}
        self.deepest = 0
        self._lock = Lock()

    def keys(self, build: str) -> Keys:
        held = [segment.keys[segment.live] for segment in self._index(build).segments]
        return np.concatenate([np.empty(0, np.int64), *held])

    def upsert(self, build: str, analyzer: str, passages: Sequence[tuple[int, str]]) -> None:
        with self._lock:
            held = self.builds.get(build) or LexicalIndex.empty(analyzer)
            self.builds[build] = held.added(passages)

    def delete(self, build: str, keys: Keys) -> None:
        with self._lock:
            self.builds[build] = self._index(build).removed(keys)

    def drop(self, prefix: str) -> None:
        with self._lock:
            kept = {name: held for name, held in self.builds.items() if not name.startswith(prefix)}
            self.builds = kept

    def search(
        self,
        build: str,
        terms: Terms,
        k: int,
        *,
        allowed: Keys | None = None,
        **options: Unpack[Bm25Options],
    ) -> tuple[Keys, Scores]:
        self.deepest = max(self.deepest, k)
        return self._index(build).search(terms, k, allowed=allowed, **options)

    def scores(
        self, build: str, terms: Terms, keys: Keys, **options: Unpack[Bm25Options]
    ) -> Scores:
        return self._index(build).scores(terms, keys, **options)

    def explain(
        self, build: str, terms: Terms, key: int, **options: Unpack[Bm25Options]
    ) -> Explanation:
        if build not in self.builds:
            raise NotFound(f"No build {build}.")
        return self._index(build).explain(terms, key, **options)

    def frequencies(
        self, build: str, terms: Terms, **variants: Unpack[Variants]
    ) -> Mapping[str, int]:
        return self._index(build).frequencies(terms, **variants)

    def meant(self, build: str, term: str) -> Meant | None:
        return self._index(build).meant(term)

    def similar_words(self, build: str, word: str) -> Mapping[str, int]:
        return self._index(build).similar_words(word)

    def _index(self, build: str) -> LexicalIndex:
        return self.builds.get(build, NOTHING)
