"""Keys and vectors as a caller gives them: checked, and each key once.

What a server returned is ordered best first, ties by key, whatever its own order of ties.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rag.errors import InvalidInput
from rag.types import Integers, Keys, Scores, Vectors


def check_vectors(keys: Keys, vectors: Vectors, dimension: int) -> tuple[Keys, Vectors, Integers]:
    """Keys (n,), vectors (n, dimension) and the rows that count: of a key given twice the later.

    Raises InvalidInput for vectors of another dimension or number.
    """
    names = np.asarray(keys, dtype=np.int64)
    if len(names) != len(vectors):
        raise InvalidInput(f"{len(names)} passages came with {len(vectors)} vectors.")
    rows = np.asarray(vectors, dtype=np.float32)
    if len(names):
        rows = rows.reshape(len(names), -1)
        check_dimension(rows.shape[1], dimension)
    _, last = np.unique(names[::-1], return_index=True)
    return names, rows, np.sort(len(names) - 1 - last)


def check_dimension(actual: int, expected: int) -> None:
    """Raise InvalidInput for a vector of another length."""
    if actual != expected:
        raise InvalidInput(
            f"A vector has {actual} dimensions, the index has {expected}: "
            "the embedding model is another one than the index was built with.",
            "Rebuild the index with the present embedding model, or go back to the former one.",
        )


Neighbours = tuple[Keys, Scores]


def nearest(k: int, ask: Callable[[int], Neighbours]) -> Neighbours:
    """The first ``k`` by falling score, then by key, of what ``ask(depth)`` finds.

    ``ask`` answers best first with ties in any order, so it is asked for more until the last one
    is worse than the ``k``-th.
    """
    depth = k + 1
    while True:
        keys, scores = ask(depth)
        if len(keys) < depth or scores[k - 1] > scores[-1]:
            return best(keys, scores, k)
        depth *= 2


def best(keys: Keys, scores: Scores, k: int) -> Neighbours:
    """The first ``k`` by falling score, then by key."""
    order = np.lexsort((keys, -scores))[:k]
    return keys[order], scores[order]


def to_rankings(pairs: list[tuple[int, float]]) -> Neighbours:
    """Keys (n,) and scores (n,) of what a server answered."""
    return (
        np.array([key for key, _ in pairs], np.int64),
        np.array([score for _, score in pairs], np.float64),
    )


def check_build(actual: int, expected: int | None) -> None:
    """Raise InvalidInput where the build has vectors of another dimension."""
    if expected is not None and expected != actual:
        raise InvalidInput(
            f"A vector has {actual} dimensions, the build has {expected}.",
            "Rebuild the index with the present embedding model, or go back to the former one.",
        )
