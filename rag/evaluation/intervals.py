"""95% confidence intervals of metrics and rates averaged over questions.

The mean of values in [0, 1] has the interval of Gaffke (see ``inference.bounded_means``), which
adapts to the sample and allows for a best and a worst question that the sample does not contain.
For rates it is the interval of Clopper and Pearson, which is also used for fewer than eight
questions or clusters. Intervals of differences come from the test that decides on them
(``significance.paired_tests``). No interval has zero width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rag.evaluation.inference.bounded_means import lower_bounds
from rag.evaluation.inference.clusters import Clusters
from rag.types import Floats, half_up, percent

_LEVEL = 0.95
_FEWEST = 8


class Interval(NamedTuple):
    """A confidence interval, both ends included."""

    low: float
    high: float


def wilson(successes: float, trials: int) -> Interval:
    """The score interval of a rate; [0, 1] without trials.

    Wilson: Probable Inference, the Law of Succession, and Statistical Inference, JASA 1927.
    """
    if not trials:
        return Interval(0.0, 1.0)
    share, squared = successes / trials, _normal_quantile() ** 2
    centre = (share + squared / (2 * trials)) / (1 + squared / trials)
    spread = (squared * share * (1 - share) / trials + (squared / (2 * trials)) ** 2) ** 0.5
    half = spread / (1 + squared / trials)
    # Rounding must not cut off the share itself, or leave the range of a rate.
    return Interval(max(min(centre - half, share), 0.0), min(max(centre + half, share), 1.0))


def rate_interval(successes: float, trials: int) -> Interval:
    """The exact interval of a rate; [0, 1] without trials.

    Clopper and Pearson: The Use of Confidence or Fiducial Limits Illustrated in the Case of the
    Binomial, Biometrika 1934.
    """
    if not trials:
        return Interval(0.0, 1.0)
    low, high = _clopper_pearson(np.array([successes], np.float64), trials)[0].tolist()
    return Interval(low, high)


def mean_intervals(values: Floats, clusters: Clusters | None = None) -> Floats:
    """Intervals of means of metrics in [0, 1]: shape (..., questions) to (..., 2).

    Without questions the interval is [0, 1]. Their order does not matter.
    """
    values = np.asarray(values, np.float64)
    rows = values.reshape(math.prod(values.shape[:-1]), values.shape[-1])
    units = clusters or Clusters.single(rows.shape[1])
    if not len(units):
        ends = np.tile([0.0, 1.0], (len(rows), 1))
    else:
        pseudo = units.pseudo_values(units.sums(rows), units.sizes)
        rates = np.isin(pseudo, (0.0, 1.0)).all(axis=1) | (len(units) < _FEWEST)
        ends = np.empty((len(rows), 2))
        ends[rates] = _clopper_pearson(pseudo[rates].sum(axis=1), len(units))
        ends[~rates] = _bounded(pseudo[~rates])
    return ends.reshape(*values.shape[:-1], 2)


def _bounded(rows: Floats) -> Floats:
    miss = (1.0 - _LEVEL) / 2.0
    low, high = lower_bounds(rows, 0.0, miss), -lower_bounds(-rows, -1.0, miss)
    return np.clip(np.stack([low, high], axis=1), 0.0, 1.0)


def _clopper_pearson(successes: Floats, trials: int) -> Floats:
    """Shape (rates, 2). Successes need not be whole: graded figures vary less than rates do."""
    from scipy.special import betaincinv

    miss = (1.0 - _LEVEL) / 2.0
    hits = np.clip(successes, 0.0, trials)
    with np.errstate(invalid="ignore"):
        low = np.where(hits > 0, betaincinv(hits, trials - hits + 1, miss), 0.0)
        high = np.where(hits < trials, betaincinv(hits + 1, trials - hits, 1 - miss), 1.0)
    return np.stack([low, high], axis=1)


def _normal_quantile() -> float:
    from scipy.special import ndtri

    return float(ndtri((1.0 + _LEVEL) / 2.0))


def whole_percent(share: float) -> str:
    """A share in whole percent, in which 0% and 100% mean none and all: ``99.6%`` is not all."""
    rounded = percent(share)
    if rounded not in ("0%", "100%") or share in (0, 1):
        return rounded
    return percent(min(max(share, 0.001), 0.999), 1)


def as_percent(level: float) -> str:
    """A level of confidence in words: ``98%``, ``99.33%``."""
    return f"{100 * level:.4g}%"


def signed(number: float, digits: int = 3) -> str:
    """``+0.031`` or ``−0.031``, with a real minus sign; what rounds to nothing is ``+0.000``."""
    return f"{half_up(number, digits):+f}".replace("-", "−")


def signed_points(change: float) -> str:
    """Return the change of a share in percentage points: ``+3``, or ``+0.4`` below half a point."""
    return signed(change * 100, 0 if half_up(change * 100) else 1)
