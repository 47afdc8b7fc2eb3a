"""Ranks of the relevant under many thresholds at once, by counting what comes before them.

And sums over what is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.evaluation.sweeping.pool import Cut, Pool, Words
from rag.types import Floats, Integers, Mask, Ranks

_BITS = 64


class _Scores:
    """Comparisons of the scores of a pool, in arrays that are made once and used again."""

    def __init__(self, pool: Pool) -> None:
        targets = pool.targets
        self._targets = targets
        self._parts = [part[targets.rows] for part in (pool.first, pool.second) if part is not None]
        self._sums = [np.empty_like(part) for part in self._parts]
        self._before = np.empty(targets.precedes.shape, dtype=np.bool_)
        self._higher = np.empty_like(self._before)

    def before(self, weight: float) -> Mask:
        """Return a mask of the columns before each target: higher score, or tie and smaller key.

        The shape is (targets, width). The next call overwrites the mask.
        """
        scores = self._scores(weight)
        own = scores[np.arange(len(scores)), self._targets.columns][:, None]
        before = np.greater_equal(scores, own, out=self._before)
        before &= self._targets.precedes
        before |= np.greater(scores, own, out=self._higher)
        return before

    def _scores(self, weight: float) -> Floats:
        if len(self._parts) == 1:
            return self._parts[0]
        for part, share, total in zip(self._parts, (weight, 1.0 - weight), self._sums, strict=True):
            np.multiply(part, share, out=total)
        first, second = self._sums
        return np.add(first, second, out=first)


class Counter:
    """A ranker of one pool under fixed thresholds (and limits of passages shown), weight after
    weight.

    A rank of ``depth`` stands for every place from there on, and for what was not retrieved.
    """

    def __init__(self, pool: Pool, cuts: Sequence[Cut], depth: int, *, as_shown: bool) -> None:
        """``as_shown`` cuts rankings at top-k; ``rows`` says which ranks are those of each cut."""
        targets = pool.targets
        self._pool = pool
        self._depth = depth
        limits = [cut.top_k if as_shown else None for cut in cuts]
        distinct = list(dict.fromkeys(cut.limit for cut in cuts))
        self._shown = list(dict.fromkeys(limits))
        self.rows = [
            self._shown.index(limit) * len(distinct) + distinct.index(cut.limit)
            for limit, cut in zip(limits, cuts, strict=True)
        ]
        self.above = pool.above(distinct)
        above = self.above[:, targets.rows]
        self._hidden = targets.columns >= above
        self._masks = _prefixes(pool.first.shape[1])[:, above]
        self._scores = _Scores(pool)

    def ranks(self, weight: float) -> Ranks:
        """Ranks from 0, shape (shown * limits, units)."""
        targets = self._pool.targets
        if not len(targets.starts):
            return np.empty((len(self._shown) * len(self.above), 0), np.int32)
        before = self._scores.before(weight)
        passages = self._counts(before) if any(self._shown) else None
        if len(targets.later):
            # A document counts once: by the first of its passages that the threshold lets in.
            repeated = targets.later[before.ravel()[targets.earlier]]
            before.ravel()[repeated] = False
        counts = self._counts(before)
        counts[self._hidden] = self._depth
        cut = [
            counts
            if limit is None or passages is None
            else np.where(passages < limit, counts, self._depth)
            for limit in self._shown
        ]
        best = np.minimum.reduceat(np.concatenate(cut), targets.starts, axis=1)
        return np.minimum(best, self._depth)

    def _counts(self, before: Mask) -> Ranks:
        """Count the columns of ``before`` that pass each threshold, shape (limits, targets)."""
        packed = _packed(before)
        counts = np.zeros(self._hidden.shape, np.int32)
        for word, mask in zip(packed.T, self._masks, strict=True):
            counts += np.bitwise_count(mask & word)
        return counts


class Shown:
    """The passages that recipes of one pool show, under fixed cuts, weight after weight."""

    def __init__(self, pool: Pool, cuts: Sequence[Cut]) -> None:
        self._pool = pool
        self._cuts = cuts
        self._by_key = np.argsort(pool.keys, axis=1)
        self._inside = np.arange(pool.keys.shape[1]) < pool.sizes[:, None]
        limits = list(dict.fromkeys(cut.limit for cut in cuts))
        self._above = dict(zip(limits, pool.above(limits), strict=True))

    def sums(self, weight: float, values: Sequence[Floats | Integers | Mask]) -> list[Floats]:
        """Sums of each of ``values`` (candidates,) over what is shown, shape (cuts, questions)."""
        scores = np.take_along_axis(self._pool.scores(weight), self._by_key, axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")  # equal scores by key
        columns = np.take_along_axis(self._by_key, order, axis=1)
        tables = []
        for row in values:
            tables.append(np.zeros(columns.shape))
            tables[-1][self._inside] = row[self._pool.places]
        deepest = max(cut.top_k for cut in self._cuts)
        running = {
            limit: _running(columns, above, tables, deepest) for limit, above in self._above.items()
        }
        return [
            np.stack([running[cut.limit][number][:, cut.top_k] for cut in self._cuts])
            for number in range(len(tables))
        ]


def _running(
    order: Integers, above: Integers, values: Sequence[Floats], deepest: int
) -> list[Floats]:
    """Running sums of values over the first passages shown: (questions, deepest + 1) each.

    ``order`` has columns of a pool from the best to the last, shape (questions, width).
    """
    inside = order < above[:, None]
    rank = np.cumsum(inside, axis=1)
    rows, ranks = np.nonzero(inside & (rank <= deepest))
    columns, slots = order[rows, ranks], rank[rows, ranks]
    sums = []
    for table in values:
        ranked = np.zeros((len(order), deepest + 1))
        ranked[rows, slots] = table[rows, columns]
        sums.append(np.cumsum(ranked, axis=1))
    return sums


def _prefixes(width: int) -> Words:
    """Bits of the first n columns, shape (words, width + 1)."""
    inside = np.arange(width) < np.arange(width + 1)[:, None]
    return np.ascontiguousarray(_packed(inside).T)


def _packed(bits: Mask) -> Words:
    """Rows of bits as words, shape (n, words)."""
    packed = np.packbits(bits, axis=1)
    words = np.zeros((len(bits), -(-bits.shape[1] // _BITS)), np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words
