"""Ranks of the relevant under many thresholds at once, by counting what comes before them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.evaluation.sweeping.pool import Pool, Words
from rag.types import Floats, Mask, Ranks

_BITS = 64


class _Scores:
    """Compares the scores of a pool, in arrays that are made once and used again."""

    def __init__(self, pool: Pool) -> None:
        targets = pool.targets
        self._targets = targets
        self._parts = [part[targets.rows] for part in (pool.first, pool.second) if part is not None]
        self._sums = [np.empty_like(part) for part in self._parts]
        self._before = np.empty(targets.precedes.shape, dtype=np.bool_)
        self._higher = np.empty_like(self._before)

    def before(self, weight: float) -> Mask:
        """Which columns come before each target: higher scores, and equal ones of smaller key.

        Shape (targets, width); overwritten by the next call.
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
    """Ranks one pool under fixed thresholds (and limits of passages shown), weight after weight.

    A rank of ``depth`` stands for every place from there on, and for what was not retrieved.
    """

    def __init__(
        self,
        pool: Pool,
        thresholds: Sequence[float | None],
        depth: int,
        shown: Sequence[int | None] = (None,),
    ) -> None:
        targets = pool.targets
        self._pool = pool
        self._depth = depth
        self._shown = shown
        self.above = pool.above(thresholds)
        above = self.above[:, targets.rows]
        self._hidden = targets.columns >= above
        self._masks = _prefixes(pool.first.shape[1])[:, above]
        self._scores = _Scores(pool)

    def ranks(self, weight: float) -> Ranks:
        """Ranks from 0, shape (shown * thresholds, units)."""
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
        """How many of ``before`` every threshold lets in, shape (thresholds, targets)."""
        packed = _packed(before)
        counts = np.zeros(self._hidden.shape, np.int32)
        for word, mask in zip(packed.T, self._masks, strict=True):
            counts += np.bitwise_count(mask & word)
        return counts


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
