"""Whether a mean difference over the same questions is more than chance, and how far off it may be.

The randomisation test is the one that Smucker, Allan and Carterette recommend (A Comparison of
Statistical Significance Tests for Information Retrieval Evaluation, CIKM 2007): if the two runs
were equal, every difference could as well have the other sign. Questions that rise and fall
together are turned round together: one sign for each of their clusters. The interval of a level
holds the differences that the same test would not reject at that level.

The test takes it that differences spread alike to both sides. Twenty small losses say nothing of
the one large win that is still to come; ``paired_tests`` therefore also asks what one more
question that was lost, or won, outright (with as many others as rise and fall with it) would leave
of the result.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rag.errors import ProviderUnavailable
from rag.evaluation.inference.bounded_means import lower_bounds, tails
from rag.evaluation.inference.clusters import Clusters
from rag.types import Floats, Mask, Stage

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


@dataclass(frozen=True, slots=True)
class Paired:
    """Tests of mean differences: p-values, shape (rows,), and their intervals at any level.

    ``by_signs`` are the p-values without the guard against one more question.
    """

    p: Floats
    by_signs: Floats
    _ahead: Floats
    _tails: _Tails | None = None

    @property
    def intervals(self) -> Floats:
        """The 95% intervals, shape (rows, 2). 0 lies in one exactly where p is above 0.05."""
        alphas = np.full(len(self.p), 1.0 - LEVEL)
        return self.intervals_at(alphas, self.p <= alphas)

    def intervals_at(self, alphas: Floats, rejected: Mask) -> Floats:
        """Intervals of the levels 1 - ``alphas``, of at least 95%; shape (rows, 2).

        0 lies outside exactly where the difference is ``rejected``, which only rounding, and more
        exact p-values, can let differ from the interval.
        """
        if self._tails is None:
            return np.tile([-1.0, 1.0], (len(self.p), 1))
        ends = np.clip(_agreeing(self._tails.ends(alphas), rejected), -1.0, 1.0)
        return np.where((self._ahead < 0)[:, None], -ends[:, ::-1], ends)


@dataclass(frozen=True, slots=True)
class _Tails:
    """The lowest and highest differences that sign patterns do not reject, and the guard's means.

    ``low`` ascends and ``high`` descends, shape (at least 5% of the patterns, rows).
    """

    patterns: int
    low: Floats
    high: Floats
    means: Floats
    worst: Floats

    def ends(self, alphas: Floats) -> Floats:
        """The ends of intervals at the levels 1 - ``alphas``, shape (rows, 2)."""
        places = np.minimum(np.floor(alphas * self.patterns + _SAME).astype(int), len(self.low) - 1)
        rows = np.arange(len(alphas))
        ends = np.stack([self.low[places, rows], self.high[places, rows]], axis=1)
        for alpha in np.unique(alphas).tolist():
            at = alphas == alpha
            both = np.concatenate([self.means[at], -self.means[at]])
            bounds = lower_bounds(both, np.tile(self.worst[at], 2), SKEWED * alpha)
            half = len(bounds) // 2
            ends[at, 0] = np.minimum(ends[at, 0], bounds[:half])
            ends[at, 1] = np.maximum(ends[at, 1], -bounds[half:])
        return ends


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
        nothing = np.ones(len(rows))
        return Paired(nothing, nothing, nothing)
    worst = -units.moving_together(rows)
    ahead = np.where(totals.sum(axis=1) < 0, -1.0, 1.0)
    totals, sizes = _sorted(totals * ahead[:, None], sizes)
    count = max(RESAMPLES, _PER_COMPARISON * comparisons - 1)
    by_signs, patterns, low, high = _sign_flips(totals, sizes, count)
    means = units.pseudo_values(totals, sizes)
    alone = tails(means, worst)
    p = np.minimum(np.maximum(by_signs, alone / SKEWED), 1.0)
    p[np.abs(totals.sum(axis=1)) <= _tolerance(totals)] = 1.0
    return Paired(p, by_signs, ahead, _Tails(patterns, low, high, means, worst))


def _sorted(totals: Floats, sizes: Floats) -> tuple[Floats, Floats]:
    """Columns in an order that does not depend on how they came."""
    order = np.lexsort((sizes, *totals[::-1]))
    return totals[:, order], sizes[order]


def _tolerance(totals: Floats) -> Floats:
    return np.asarray(_SAME * np.abs(totals).sum(axis=1))


def _sign_flips(
    totals: Floats, sizes: Floats, resamples: int
) -> tuple[Floats, int, Floats, Floats]:
    """P-values of totals by cluster whose sums are not below 0, the patterns, and their tails."""
    parts = [
        _inverted(totals[start : start + _ROWS], sizes, min(resamples, RESAMPLES))
        for start in range(0, len(totals), _ROWS)
    ]
    if not parts:
        return np.ones(0), 1, np.ones((1, 0)), np.ones((1, 0))
    patterns = parts[0][1]
    p, low, high = (np.concatenate([part[at] for part in parts], axis=-1) for at in (0, 2, 3))
    if len(sizes) > _EXACT:
        moved = (totals != 0).sum(axis=1)
        for row in np.flatnonzero((moved > 0) & (moved <= _EXACT)).tolist():
            some = totals[row, totals[row] != 0]
            hits = _hits(_all_subsets(len(some)), some[None], _tolerance(some[None]))
            p[row] = float(hits[0]) / (1 << len(some))
        # Only what more patterns could decide is worth them.
        open_ = np.flatnonzero((moved > _EXACT) & (p <= 50 / RESAMPLES))
        if resamples > RESAMPLES and len(open_):
            p[open_] = _finer(totals[open_], resamples)
    return p, patterns, low, high


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


def _inverted(totals: Floats, sizes: Floats, resamples: int) -> tuple[Floats, int, Floats, Floats]:
    """The test and its inversion: p-values, the patterns, and the tails, as ``_Tails`` has them.

    Turning round the clusters outside of a subset gives a sum as far from 0 as the one seen just
    where a mean difference of theta is at or beyond the mean of the subset or of the rest
    (Hartigan, Using Subsample Values as Typical Values, JASA 1969).
    """
    exact = len(sizes) <= _EXACT
    subset_batches = [_all_subsets(len(sizes))] if exact else _random_subsets(len(sizes), resamples)
    tolerance, whole, size = _tolerance(totals), totals.sum(axis=1), sizes.sum()
    lows, highs, hits = [], [], np.zeros(len(totals))
    for subsets in subset_batches:
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
    patterns = len(low)
    place = math.floor((1.0 - LEVEL) * patterns + _SAME)
    low = np.sort(np.partition(low, place, axis=0)[: place + 1], axis=0)
    high = -np.sort(np.partition(-high, place, axis=0)[: place + 1], axis=0)
    return hits / (patterns if exact else resamples + 1), patterns, low, high


def _all_subsets(clusters: int) -> Subset:
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
        yield 1.0 - 2.0 * _all_subsets(clusters).astype(np.float64)
        return
    yield np.ones((1, clusters))
    for subsets in _random_subsets(clusters, resamples):
        yield 1.0 - 2.0 * subsets.astype(np.float64)


def _agreeing(ends: Floats, rejected: Mask) -> Floats:
    """Intervals whose lower end is above 0 just where 0 is ``rejected``."""
    low = np.where(
        rejected, np.maximum(ends[:, 0], np.nextafter(0, 1)), np.minimum(ends[:, 0], 0.0)
    )
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


def holm_levels(p_values: npt.ArrayLike, alpha: float) -> Floats:
    """The level at which Holm's procedure decides about p-values of one table, in their order.

    A p-value is rejected exactly where it is at most its level: ``alpha`` shared by as many as are
    not decided yet, or by as many as were open when the procedure ended.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    steps = alpha / np.arange(len(values), 0, -1)
    ended = np.flatnonzero(values[order] > steps)
    if len(ended):
        steps[ended[0] :] = steps[ended[0]]
    levels = np.empty_like(values)
    levels[order] = steps
    return levels


ENOUGH = 3
"""Questions after which a step that never worked is believed not to work."""


class Fallbacks:
    """Counts questions by step that failed."""

    def __init__(self) -> None:
        self._questions = 0
        self._failed: dict[str, tuple[int, str]] = {}

    def note(self, stages: Iterable[Stage]) -> None:
        """Note the stages of one more question."""
        self._questions += 1
        for stage in stages:
            if stage.failed:
                count, first = self._failed.get(stage.name, (0, stage.note))
                self._failed[stage.name] = count + 1, first

    def require(self, questions: int) -> None:
        """Raise ProviderUnavailable where a step has failed for every one of enough questions."""
        for name, (count, why) in self._failed.items():
            if count == self._questions >= min(ENOUGH, questions):
                raise ProviderUnavailable(
                    f"The step {name!r} of the recipe does not work: {why}",
                    "Metrics without it would be those of another recipe. Fix the step, "
                    "or turn it off.",
                )

    def described(self) -> str:
        """Return the number of failures of each step and its first reason; "" without failures."""
        return "; ".join(
            f"{name} failed for {count} of {self._questions} questions: {why}"
            for name, (count, why) in self._failed.items()
        )
