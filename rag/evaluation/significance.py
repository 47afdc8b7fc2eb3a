"""Whether a mean difference over the same questions is more than chance, and how far off it may be.

The randomisation test is the one that Smucker, Allan and Carterette recommend (A Comparison of
Statistical Significance Tests for Information Retrieval Evaluation, CIKM 2007): if the two runs
were equal, every difference could as well have the other sign. Questions that rise and fall
together are turned round together: one sign for each of their clusters. The interval holds the
differences that the same test would not reject.

The test takes it that differences spread alike to both sides. Twenty small losses say nothing of
the one large win that is still to come; ``paired_tests`` therefore also asks what one more
question that was lost, or won, outright (with as many others as rise and fall with it) would leave
of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag.evaluation.inference.bounded_means import lower_bounds, tails
from rag.evaluation.inference.clusters import Clusters
from rag.types import Floats, Mask

RESAMPLES = 9999
_EXACT = 13  # up to so many differences, all 2 ** 13 sign patterns are tried
_BATCH = 1 << 10  # sign patterns drawn at once, a byte for each cluster
_BLOCK = 1 << 16  # signs that are numbers at once: 512 kB, which stay in a processor's cache
_ROWS = 64  # comparisons whose subset means are held at once
_PER_COMPARISON = 500  # patterns, so that Holm's strictest step is ten times the smallest p
_SAME = 1e-9  # sums closer than this, in units of the summed differences, are equal
_DECIMALS = 12  # what is smaller is rounding

LEVEL = 0.95
SKEWED = 2.5
"""Without symmetry a p-value is promised 2.5 times as large: a winner at 0.02 is false at most once
in twenty times for any distribution, where it is once in fifty for symmetric ones."""

Subset = npt.NDArray[np.int8]


class Paired(NamedTuple):
    """Tests of mean differences: p-values, shape (rows,), and 95% intervals, shape (rows, 2).

    0 lies in an interval exactly where p is above 0.05.
    """

    p: Floats
    intervals: Floats


def paired_tests(
    differences: Floats, clusters: Clusters | None = None, comparisons: int = 1
) -> Paired:
    """Two-sided tests of mean differences in [-1, 1], shape (rows, questions).

    ``comparisons`` is how many p-values are corrected together: more than 20 need more sign
    patterns than ``RESAMPLES``. Fewer than two clusters tell nothing: p is 1, the interval [-1, 1].
    The order of the questions does not matter.
    """
    rows = np.asarray(differences, np.float64)
    units = clusters or Clusters.single(rows.shape[1])
    totals, sizes = np.round(units.sums(rows), _DECIMALS), units.sizes
    if len(sizes) < 2:
        return Paired(np.ones(len(rows)), np.tile([-1.0, 1.0], (len(rows), 1)))
    worst = -units.moving_together(rows)
    ahead = np.where(totals.sum(axis=1) < 0, -1.0, 1.0)
    totals, sizes = _sorted(totals * ahead[:, None], sizes)
    p, ends = _sign_flips(totals, sizes, max(RESAMPLES, _PER_COMPARISON * comparisons - 1))
    means = units.pseudo_values(totals, sizes)
    alone = tails(means, worst)
    p = np.minimum(np.maximum(p, alone / SKEWED), 1.0)
    p[np.abs(totals.sum(axis=1)) <= _tolerance(totals)] = 1.0
    allowed = SKEWED * (1.0 - LEVEL)
    both = lower_bounds(np.concatenate([means, -means]), np.tile(worst, 2), allowed)
    ends[:, 0] = np.minimum(ends[:, 0], both[: len(means)])
    ends[:, 1] = np.maximum(ends[:, 1], -both[len(means) :])
    ends = np.clip(_agreeing(ends, p), -1.0, 1.0)
    return Paired(p, np.where((ahead < 0)[:, None], -ends[:, ::-1], ends))


def randomisation_p(
    differences: Floats, resamples: int = RESAMPLES, clusters: Clusters | None = None
) -> float:
    """Two-sided p-value of a mean difference; ``differences`` has shape (questions,).

    Exact where few questions (or clusters) differ; otherwise (b + 1) / (n + 1) for b of n random
    sign patterns whose sum is at least as far from 0, so it is never 0. No differences at all
    give 1. This is the test alone, for differences that are symmetric where the runs are equal.
    """
    units = clusters or Clusters.single(len(differences))
    totals = np.round(units.sums(np.asarray(differences, np.float64)[None]), _DECIMALS)
    if not totals.any():
        return 1.0
    totals, sizes = _sorted(totals if totals.sum() >= 0 else -totals, units.sizes)
    return float(_sign_flips(totals, sizes, resamples)[0][0])


def _sorted(totals: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Columns in an order that does not depend on how they came."""
    order = np.lexsort((sizes, *totals[::-1]))
    return totals[:, order], sizes[order]


def _tolerance(totals: Floats) -> Floats:
    return np.asarray(_SAME * np.abs(totals).sum(axis=1))


def _sign_flips(totals: Floats, sizes: Floats, resamples: int) -> tuple[Floats, Floats]:
    """P-values, and the ends of 95% intervals, of totals by cluster whose sums are not below 0."""
    parts = [
        _inverted(totals[start : start + _ROWS], sizes, min(resamples, RESAMPLES))
        for start in range(0, len(totals), _ROWS)
    ]
    p = np.concatenate([part[0] for part in parts]) if parts else np.ones(0)
    ends = np.concatenate([part[1] for part in parts]) if parts else np.ones((0, 2))
    if len(sizes) > _EXACT:
        moved = (totals != 0).sum(axis=1)
        for row in np.flatnonzero((moved > 0) & (moved <= _EXACT)).tolist():
            some = totals[row, totals[row] != 0]
            hits = _hits(_every_subset(len(some)), some[None], _tolerance(some[None]))
            p[row] = float(hits[0]) / (1 << len(some))
        # Only what more patterns could decide is worth them.
        open_ = np.flatnonzero((moved > _EXACT) & (p <= 50 / RESAMPLES))
        if resamples > RESAMPLES and len(open_):
            p[open_] = _finer(totals[open_], resamples)
    return p, ends


def _finer(totals: Floats, resamples: int) -> Floats:
    tolerance = _tolerance(totals)
    hits = np.zeros(len(totals))
    for subsets in _random_subsets(totals.shape[1], resamples):
        hits += _hits(subsets, totals, tolerance)
    return np.asarray((hits + 1) / (resamples + 1))


def _hits(subsets: Subset, totals: Floats, tolerance: Floats) -> Floats:
    """Count the sign patterns whose sum is at least as far from 0, by row of totals."""
    (inside,) = _inside(subsets, totals)
    outside = totals.sum(axis=1) - inside
    return np.asarray((np.minimum(inside, outside) <= tolerance).sum(axis=0), np.float64)


def _inside(subsets: Subset, *tables: Floats) -> list[Floats]:
    """Sums over the clusters of each subset: (rows, clusters) to (subsets, rows) each."""
    length = max(_BLOCK // max(subsets.shape[1], 1) // 16, 1) * 16
    parts: list[list[Floats]] = [[] for _ in tables]
    for begin in range(0, len(subsets), length):
        chosen = subsets[begin : begin + length].astype(np.float64)
        for table, sums in zip(tables, parts, strict=True):
            sums.append(chosen @ table.T)
    return [np.concatenate(sums) for sums in parts]


def _inverted(totals: Floats, sizes: Floats, resamples: int) -> tuple[Floats, Floats]:
    """The test and its inversion.

    Turning round the clusters outside of a subset gives a sum as far from 0 as the one seen just
    where a mean difference of theta is at or beyond the mean of the subset or of the rest
    (Hartigan, Using Subsample Values as Typical Values, JASA 1969).
    """
    exact = len(sizes) <= _EXACT
    every = [_every_subset(len(sizes))] if exact else _random_subsets(len(sizes), resamples)
    tolerance, whole, size = _tolerance(totals), totals.sum(axis=1), sizes.sum()
    lows, highs, hits = [], [], np.zeros(len(totals))
    for subsets in every:
        inside, count = _inside(subsets, totals, sizes[None])
        outside = whole - inside
        hits += (np.minimum(inside, outside) <= tolerance).sum(axis=0)
        trivial = (count == 0) | (count == size)
        with np.errstate(divide="ignore", invalid="ignore"):
            one = np.where(np.abs(inside) <= tolerance, 0.0, inside) / count
            other = np.where(np.abs(outside) <= tolerance, 0.0, outside) / (size - count)
        lows.append(np.where(trivial, -np.inf, np.minimum(one, other)))
        highs.append(np.where(trivial, np.inf, np.maximum(one, other)))
    if not exact:  # what was seen is a pattern too
        hits += 1
        lows.append(np.full((1, len(totals)), -np.inf))
        highs.append(np.full((1, len(totals)), np.inf))
    low, high = np.concatenate(lows), np.concatenate(highs)
    place = math.floor((1.0 - LEVEL) * len(low) + _SAME)
    low = np.partition(low, place, axis=0)[place]
    high = -np.partition(-high, place, axis=0)[place]
    return hits / len(highs[0]) if exact else hits / (resamples + 1), np.stack([low, high], axis=1)


def _every_subset(clusters: int) -> Subset:
    return (np.arange(1 << clusters)[:, None] >> np.arange(clusters) & 1).astype(np.int8)


def _random_subsets(clusters: int, resamples: int) -> Iterator[Subset]:
    rng = np.random.default_rng(0)
    for begin in range(0, resamples, _BATCH):
        shape = (min(_BATCH, resamples - begin), clusters)
        yield rng.integers(2, size=shape, dtype=np.int8)


def sign_patterns(clusters: int, resamples: int) -> Iterator[Floats]:
    """Signs for clusters, shape (patterns, clusters): all there are of few clusters, else random
    ones and, first, the pattern that was seen, which is all 1.
    """
    if clusters <= _EXACT:
        yield 1.0 - 2.0 * _every_subset(clusters).astype(np.float64)
        return
    yield np.ones((1, clusters))
    for subsets in _random_subsets(clusters, resamples):
        yield 1.0 - 2.0 * subsets.astype(np.float64)


def _agreeing(ends: Floats, p: Floats) -> Floats:
    """Intervals whose lower end is above 0 just where p is small; more exact p-values lead."""
    decided: Mask = p <= 1.0 - LEVEL
    low = np.where(decided, np.maximum(ends[:, 0], np.nextafter(0, 1)), np.minimum(ends[:, 0], 0.0))
    return np.stack([low, ends[:, 1]], axis=1)


def holm(p_values: npt.ArrayLike) -> Floats:
    """P-values of one table, adjusted for how many there are, in their order.

    Holm: A Simple Sequentially Rejective Multiple Test Procedure, Scand. J. Statistics 1979.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    stepped = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(stepped), 1.0)
    return adjusted
