"""A mean over many hits from the few that people judged, drawn at random, and a cheap judge of all.

The judge (a language model, or any proxy) is not believed: what people say of the sample measures
how wrong it is, and the mean is corrected by that. This is prediction-powered inference with tuned
power (Angelopoulos, Duchi and Zrnic, PPI++, 2023), which for a sample from a finite pool is the
regression estimator of surveys (Cochran, Sampling Techniques, 1977, chapter 7): unbiased but for
terms of order 1/n whatever the judge's errors, and as good as people alone where it knows nothing.
Without a judge it is the plain mean of the sample, which for hits is the estimate of Horvitz and
Thompson (JASA 1952).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.intervals import Interval
from rag.types import Floats

FEWEST = 10
"""Sampled hits below which no interval is given."""

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class SampledMean:
    """The mean of a figure in [0, 1] over a pool, with its 95% interval.

    ``power`` is how far the judge was used: 0 not at all. ``people`` is the interval that the
    sample alone gives, and never narrower.
    """

    mean: float
    interval: Interval
    people: Interval
    power: float
    sampled: int
    pool: int

    @property
    def narrower(self) -> float:
        """The share of the width that the judge saved."""
        low, high = self.people
        return 1.0 - (self.interval.high - self.interval.low) / (high - low) if high > low else 0.0


def sampled_mean(
    judged: Floats, pool: int, proxy: Floats | None = None, proxy_of_pool: Floats | None = None
) -> SampledMean:
    """From what people say of a simple random sample of a pool of so many hits.

    ``judged``, shape (n,), is in [0, 1]: 1 relevant. ``proxy`` has what the judge says of the same
    hits and ``proxy_of_pool``, shape (pool,), of all of them, the sampled ones included. Raises
    InvalidInput below ``FEWEST`` sampled hits.
    """
    count = len(judged)
    if count < FEWEST:
        raise InvalidInput(
            f"{count} hits of the random sample are judged, and an interval takes {FEWEST}.",
            "Judge more of the sample.",
        )
    open_share = 1.0 - count / pool
    mean = float(judged.mean())
    if not open_share:
        whole = Interval(mean, mean)
        return SampledMean(mean, whole, whole, 0.0, count, pool)
    alone = count / open_share - 1.0
    people = _interval(mean, open_share * float(judged.var(ddof=1)) / count, count, alone)
    if proxy is None or proxy_of_pool is None or not float(proxy.var()):
        return SampledMean(mean, people, people, 0.0, count, pool)
    power = float(np.cov(judged, proxy)[0, 1] / proxy.var(ddof=1))
    rest = judged - power * proxy
    spread = max(_spread(rest, proxy), _least_spread(count))
    corrected = min(max(float(rest.mean() + power * proxy_of_pool.mean()), 0.0), 1.0)
    interval = _interval(corrected, open_share * spread / count, count - 1, alone)
    if interval.high - interval.low >= people.high - people.low:
        return SampledMean(mean, people, people, 0.0, count, pool)
    return SampledMean(corrected, interval, people, power, count, pool)


def _interval(mean: float, variance: float, count: int, alone: float) -> Interval:
    """Wilson's interval with the effective number of observations that a variance stands for.

    ``alone`` is that number where the mean is 0 or 1 and the variance tells nothing.
    """
    from scipy.special import stdtrit

    squared = float(stdtrit(count - 1, (1.0 + _LEVEL) / 2.0)) ** 2
    binary = mean * (1.0 - mean)
    effective = binary / variance if variance > 0.0 and binary > 0.0 else alone
    centre = (mean + squared / (2 * effective)) / (1 + squared / effective)
    half = math.sqrt(squared * binary / effective + (squared / (2 * effective)) ** 2)
    half /= 1 + squared / effective
    return Interval(max(min(centre - half, mean), 0.0), min(max(centre + half, mean), 1.0))


def _spread(rest: Floats, proxy: Floats) -> float:
    """The variance of what the judge leaves open, each hit by a fit that did not see it.

    MacKinnon and White's third estimator (J. Econometrics 1985): a few hits that decide the fit
    look better than they are.
    """
    away = (proxy - proxy.mean()) ** 2
    leverage = np.minimum(1.0 / len(rest) + away / away.sum(), 0.9)
    return float((((rest - rest.mean()) / (1.0 - leverage)) ** 2).mean())


def _least_spread(count: int) -> float:
    """The variance of disagreements at the middle of Wilson's interval of none in so many."""
    from scipy.special import ndtri

    squared = float(ndtri((1.0 + _LEVEL) / 2.0)) ** 2
    return squared / 2.0 / (count + squared)


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two judges on ``hits``: Cohen's kappa with its 95% interval.

    ``kappa`` and ``interval`` are None if both judges always give the same single verdict, because
    agreement then proves nothing.
    """

    hits: int
    agreed: int
    kappa: float | None
    interval: Interval | None


def agreement(people: Floats, judge: Floats) -> Agreement:
    """Of verdicts on the same hits, shape (n,), relevant where above 0.

    The interval is by the large-sample variance of Fleiss, Cohen and Everitt (Psychological
    Bulletin 1969).
    """
    hits = len(people)
    table = np.zeros((2, 2))
    np.add.at(table, ((people > 0).astype(int), (judge > 0).astype(int)), 1.0)
    agreed = int(np.trace(table))
    rows, columns = table.sum(axis=1) / max(hits, 1), table.sum(axis=0) / max(hits, 1)
    chance = float(rows @ columns)
    if not hits or chance >= 1.0:
        return Agreement(hits, agreed, None, None)
    share = table / hits
    observed = agreed / hits
    kappa = (observed - chance) / (1.0 - chance)
    sums = columns[:, None] + rows[None, :]  # by row i and column j: p(.i) + p(j.)
    on = float((np.diag(share) * (1.0 - np.diag(sums) * (1.0 - kappa)) ** 2).sum())
    off = float(((share - np.diag(np.diag(share))) * sums**2).sum()) * (1.0 - kappa) ** 2
    variance = (on + off - (kappa - chance * (1.0 - kappa)) ** 2) / hits / (1.0 - chance) ** 2
    half = 1.96 * math.sqrt(max(variance, 0.0))
    return Agreement(hits, agreed, kappa, Interval(max(kappa - half, -1.0), min(kappa + half, 1.0)))
