"""Passages that say the same: copies are collapsed, what is new may come before the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rag.retrieval.fusion import min_max
from rag.types import Keys, Order, Scores, Vectors

ROUNDING = 1e-6
"""How far the cosine of two equal texts may be from 1 in single precision."""

_BLOCK = 256


class Double(NamedTuple):
    """The passage at ``place`` says what the better one at ``of`` says: their ``cosine``."""

    place: int
    of: int
    cosine: float


class Nearness:
    """The cosines between candidates, read and computed only on demand.

    Rows of cosines are cached for callers that need them for many recipes. Don't share an instance
    between threads.
    """

    def __init__(self, keys: Keys, vectors: Callable[[Keys], Vectors]) -> None:
        self._keys = keys
        self._vectors = vectors
        self._rows: Vectors | None = None
        self._exact = np.empty((0, 0))
        self._cosines: dict[int, Scores] = {}

    def vectors(self, places: Order) -> Vectors:
        """The vectors of some candidates, shape (len(places), dimension)."""
        if self._rows is None:
            self._rows = self._vectors(self._keys)
        return self._rows[places]

    def cosines(self, place: int) -> Scores:
        """Return the cosines of all candidates to one, shape (n,)."""
        if place not in self._cosines:
            if not len(self._exact):
                self._exact = self.vectors(np.arange(len(self._keys))).astype(np.float64)
            self._cosines[place] = (self._exact * self._exact[place]).sum(axis=1)
        return self._cosines[place]


def doubles(rows: Vectors, limit: float) -> list[Double]:
    """Passages that are as near as ``limit`` to one before them that is not a double itself.

    ``rows`` (n, dimension) are unit vectors, best first; places count from 0. Of several before it
    the best is named.
    """
    same, is_double = list[Double](), np.zeros(len(rows), np.bool_)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        cosines = block @ rows[: start + len(block)].T
        near = np.tril(cosines >= limit - ROUNDING, start - 1)  # to those before
        for row in np.flatnonzero(near.any(axis=1)).tolist():
            position = start + row
            before = np.flatnonzero(near[row, :position] & ~is_double[:position])
            if len(before):
                is_double[position] = True
                same.append(Double(position, int(before[0]), float(cosines[row, before[0]])))
    return same


def diversify(
    places: Order, scores: Scores, nearness: Nearness, share: float, count: int
) -> tuple[Order, Scores]:
    """The first ``count`` of ``places`` by maximal marginal relevance, with their values.

    ``places`` (n,) of candidates and their ``scores`` (n,) are best first. Each next passage has
    the highest ``share * score - (1 - share) * (greatest cosine to those before it)``, scores
    stretched to [0, 1]; equal values go in the given order. Carbonell and Goldstein, "The Use of
    MMR, Diversity-Based Reranking for Reordering Documents and Producing Summaries", SIGIR 1998.
    """
    relevance = min_max(scores)
    nearest, free = np.zeros(len(scores)), np.ones(len(scores), np.bool_)
    picked, values = list[int](), list[float]()
    for _ in range(min(count, len(scores))):
        marginal = np.where(free, share * relevance - (1 - share) * nearest, -np.inf)
        best = int(np.argmax(marginal))
        picked.append(best)
        values.append(float(marginal[best]))
        free[best] = False
        cosines = nearness.cosines(int(places[best]))[places]
        nearest = cosines if len(picked) == 1 else np.maximum(nearest, cosines)
    return places[np.array(picked, np.intp)], np.array(values)
