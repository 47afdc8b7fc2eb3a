"""Passages that say the same: copies are collapsed, what is new may come before the best."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rag.retrieval.fusion import Order, min_max
from rag.types import Scores, Vectors

ROUNDING = 1e-6
"""How far the cosine of two equal texts may be from 1 in single precision."""

_BLOCK = 256


class Double(NamedTuple):
    """The passage at ``place`` says what the better one at ``of`` says: their ``cosine``."""

    place: int
    of: int
    cosine: float


def doubles(rows: Vectors, limit: float) -> list[Double]:
    """Passages that are as near as ``limit`` to one before them that is not a double itself.

    ``rows`` (n, dimension) are unit vectors, best first; places count from 0. Of several before it
    the best is named.
    """
    found, taken = list[Double](), np.zeros(len(rows), np.bool_)
    for start in range(0, len(rows), _BLOCK):
        block = rows[start : start + _BLOCK]
        cosines = block @ rows[: start + len(block)].T
        near = cosines >= limit - ROUNDING
        for row in range(len(block)):
            place = start + row
            before = np.flatnonzero(near[row, :place] & ~taken[:place])
            if len(before):
                taken[place] = True
                found.append(Double(place, int(before[0]), float(cosines[row, before[0]])))
    return found


def diversified(scores: Scores, rows: Vectors, share: float, count: int) -> tuple[Order, Scores]:
    """The first ``count`` places by maximal marginal relevance, with their values.

    ``scores`` (n,) and ``rows`` (n, dimension) are best first. Each next passage has the highest
    ``share * score - (1 - share) * (greatest cosine to those before it)``, scores stretched to
    [0, 1]; equal values go in the given order. Carbonell and Goldstein, "The Use of MMR,
    Diversity-Based Reranking for Reordering Documents and Producing Summaries", SIGIR 1998.
    """
    relevance, exact = min_max(scores), rows.astype(np.float64)
    nearest, free = np.zeros(len(scores)), np.ones(len(scores), np.bool_)
    picked, values = list[int](), list[float]()
    for _ in range(min(count, len(scores))):
        marginal = np.where(free, share * relevance - (1 - share) * nearest, -np.inf)
        place = int(np.argmax(marginal))
        picked.append(place)
        values.append(float(marginal[place]))
        free[place] = False
        cosines = (exact * exact[place]).sum(axis=1)
        nearest = cosines if len(picked) == 1 else np.maximum(nearest, cosines)
    return np.array(picked, np.intp), np.array(values)
