"""Caches of earlier values that are still valid: vectors of texts, results of searches."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from rag.protocols import Embedder, InputType, Tokenizer, VectorView
from rag.types import Keys, Scores, Trace, Vectors

LIFETIME = 3600.0
"""Seconds. What a provider answers may change without a change on this side."""
MOST_VECTOR_BYTES = 32_000_000
"""Some 20,000 vectors of 384 numbers."""
MOST_PASSAGES = 20_000
"""Of all remembered results together: some 20 MB."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class CacheFigures:
    """The statistics of a cache: its number of entries, its hits and its misses."""

    name: str
    entries: int
    hits: int
    misses: int

    @property
    def rate(self) -> float:
        """Share of the questions that it knew; 0 where nobody asked."""
        lookups = self.hits + self.misses
        return self.hits / lookups if lookups else 0.0


class Cache(Generic[Key, Value]):
    """Values by key, for a time; what was used longest ago goes first. Safe to share.

    ``most`` bounds the sum of ``weigh`` over all values.
    """

    def __init__(
        self,
        most: int,
        weigh: Callable[[Value], int] = lambda _value: 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most, self._weigh, self._clock = most, weigh, clock
        self._held: OrderedDict[Key, tuple[float, int, Value]] = OrderedDict()
        self._weight = self._hits = self._misses = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Value | None:
        """The value, or None when it is not there, or too old."""
        with self._lock:
            entry = self._held.get(key)
            if entry is not None and entry[0] <= self._clock():
                self._drop(key)
                entry = None
            if entry is None:
                self._misses += 1
                return None
            self._hits += 1
            self._held.move_to_end(key)
            return entry[2]

    def put(self, key: Key, value: Value, lifetime: float = LIFETIME) -> None:
        """Keep a value for some seconds; one that is too heavy by itself is not kept."""
        weight = self._weigh(value)
        with self._lock:
            if key in self._held:
                self._drop(key)
            if weight > self._most:
                return
            self._held[key] = self._clock() + lifetime, weight, value
            self._weight += weight
            while self._weight > self._most:
                self._drop(next(iter(self._held)))

    def figures(self, name: str) -> CacheFigures:
        """Return the statistics of the cache so far."""
        with self._lock:
            return CacheFigures(name, len(self._held), self._hits, self._misses)

    def _drop(self, key: Key) -> None:
        self._weight -= self._held.pop(key)[1]


class KnownVectors:
    """Vectors of questions, and of the sentences that answers quote, by embedder and text."""

    def __init__(self) -> None:
        self._cache: Cache[tuple[str, InputType, bytes], Vectors] = Cache(
            MOST_VECTOR_BYTES, weigh=lambda vector: vector.nbytes
        )

    def vectors(
        self, embedder: Embedder, texts: Sequence[str], input_type: InputType = "query"
    ) -> tuple[Vectors, int]:
        """Unit vectors, shape (len(texts), dimension), and how many were known before.

        Raises ProviderError.
        """
        keys = [(embedder.id, input_type, hashlib.sha256(_bytes(text)).digest()) for text in texts]
        rows_by_key = {key: self._cache.get(key) for key in dict.fromkeys(keys)}
        cached = sum(rows_by_key[key] is not None for key in keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if rows_by_key[key] is None}
        if not texts:
            return embedder.embed([], input_type), 0
        rows = embedder.embed(list(new.values()), input_type) if new else ()
        for key, row in zip(new, rows, strict=True):
            mine = row.copy()  # a row of a large table would keep the whole table
            self._cache.put(key, mine)
            rows_by_key[key] = mine
        return np.stack([row for key in keys if (row := rows_by_key[key]) is not None]), cached

    def find(self, embedder: Embedder, text: str) -> Vectors | None:
        """The vector of a question where it is known, shape (dimension,); nobody is asked."""
        return self._cache.get((embedder.id, "query", hashlib.sha256(_bytes(text)).digest()))

    def figures(self) -> CacheFigures:
        """Return the statistics of the vector cache so far."""
        return self._cache.figures("Vectors of questions and sentences")


@dataclass(frozen=True, slots=True)
class RememberingEmbedder:
    """An embedder that is not asked again for what is known."""

    embedder: Embedder
    cached: KnownVectors

    @property
    def id(self) -> str:
        """The id of the embedder."""
        return self.embedder.id

    @property
    def dimension(self) -> int:
        """The dimension of the embedder's vectors."""
        return self.embedder.dimension

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the embedder."""
        return self.embedder.tokenizer

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Embed ``texts``, or return their cached vectors. Raises ProviderError."""
        return self.cached.vectors(self.embedder, texts, input_type)[0]


class KnownResults:
    """Traces of searches. One in which a step failed is never kept: next time it may not."""

    def __init__(self) -> None:
        self._cache: Cache[Hashable, Trace] = Cache(MOST_PASSAGES, weigh=_passages)

    def trace(
        self, key: Hashable, search: Callable[[], Trace], lifetime: float = LIFETIME
    ) -> Trace:
        """The trace of a search, done now or before; then its stage "question" says so.

        ``key`` names all that decides it, see ``KnowledgeBase.state``.
        """
        cached = self._cache.get(key)
        if cached is not None:
            return cached
        trace = search()
        if not trace.failures:
            remark = "whole result from the cache, times are those of its search"
            stages = (
                replace(stage, note=f"{stage.note}; {remark}", figures={"from_cache": 1.0})
                if stage.name == "question"
                else stage
                for stage in trace.stages
            )
            self._cache.put(key, replace(trace, stages=tuple(stages)), lifetime)
        return trace

    def figures(self) -> CacheFigures:
        """Return the statistics of the result cache so far."""
        return self._cache.figures("Results of searches")


def _passages(trace: Trace) -> int:
    return 1 + len(trace.hits) + sum(len(stage.dropped) for stage in trace.stages)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


_MOST = 20_000  # searches; each holds a few kilobytes

_Query = tuple[bytes, int]
_Answer = tuple[int, Keys | None, Keys, Scores]


@dataclass(frozen=True, slots=True)
class Remembered:
    """Searches of ``dense``. Of an exact one a deep search answers every shallower one.

    Not to be shared between threads.
    """

    dense: VectorView
    _answers: dict[_Query, _Answer] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Number of vectors that can be found."""
        return len(self.dense)

    @property
    def exact(self) -> bool:
        """Whether searches find the very nearest."""
        return self.dense.exact

    def search(self, query: Vectors, k: int, allowed: Keys | None = None) -> tuple[Keys, Scores]:
        """Search the index, or return an earlier result.

        The arrays are shared. Don't write to them.
        """
        cache_key = query.tobytes(), id(allowed)
        depth, _, keys, scores = self._answers.get(cache_key, (-1, None, None, None))
        if keys is None or scores is None or depth < k or not (self.exact or depth == k):
            keys, scores = self.dense.search(query, k, allowed)
            if len(self._answers) >= _MOST:
                self._answers.clear()
            self._answers[cache_key] = (
                k,
                allowed,
                keys,
                scores,
            )  # holds allowed: its id is not reused
        return keys[:k], scores[:k]

    def vectors(self, keys: Keys) -> Vectors:
        """Stored vectors of ``keys``."""
        return self.dense.vectors(keys)
