"""How far a mean over questions may be off: 95% intervals of metrics, differences and rates.

The bootstrap is the expanded percentile one (Hesterberg, What Teachers Should Know About the
Bootstrap, The American Statistician 2015), which keeps its level with few questions where the plain
percentile and BCa intervals fall short. No bootstrap learns what a sample does not show: with fewer
than eight questions, or a metric that took at most two values, the interval is Wilson's.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rag.types import Floats

RESAMPLES = 2000
_LEVEL = 0.95
_FEWEST = 8
_BATCH = 1 << 21  # draws held at once


class Interval(NamedTuple):
    """Where the true figure lies, both ends included."""

    low: float
    high: float


def wilson(successes: float, trials: int) -> Interval:
    """The score interval of a rate; [0, 1] without trials.

    Wilson: Probable Inference, the Law of Succession, and Statistical Inference, JASA 1927.
    """
    if not trials:
        return Interval(0.0, 1.0)
    low, high = _wilson(np.array(successes / trials), trials)
    return Interval(float(low), float(high))


def mean_intervals(values: Floats, resamples: int = RESAMPLES) -> Floats:
    """Intervals of means of metrics in [0, 1]: shape (..., questions) to (..., 2).

    All rows are resampled with the same draws. Without questions the interval is [0, 1].
    """
    values = np.asarray(values, np.float64)
    questions = values.shape[-1]
    if not questions:
        return np.broadcast_to(np.array([0.0, 1.0]), (*values.shape[:-1], 2)).copy()
    mean = values.mean(axis=-1)
    if questions < _FEWEST:
        return np.stack(_wilson(mean, questions), axis=-1)
    bootstrapped = np.clip(bootstrap_intervals(values, resamples), 0.0, 1.0)
    low, high = values.min(axis=-1), values.max(axis=-1)
    two = ((values == low[..., None]) | (values == high[..., None])).all(axis=-1)
    exact = np.where(
        (low == high)[..., None],
        _of_constant(low, questions),
        _of_two(mean, low, high, questions),
    )
    return np.where(two[..., None], exact, bootstrapped)


def bootstrap_intervals(values: Floats, resamples: int = RESAMPLES) -> Floats:
    """Expanded percentile intervals of means of any figures: (..., questions) to (..., 2).

    Makes no assumption on the range; figures that do not vary give an interval without width.
    Needs at least one question.
    """
    values = np.asarray(values, np.float64)
    questions = values.shape[-1]
    # From the mean, so that figures that do not vary stay exact.
    mean = values.mean(axis=-1)
    centred = (values - mean[..., None]).reshape(-1, questions)
    tail = _expanded_tail(questions)
    means = _resampled_means(centred, resamples)
    ends = np.quantile(means, [tail, 1.0 - tail], axis=0, method="nearest")
    return np.asarray(ends.T.reshape(*mean.shape, 2) + mean[..., None])


def _resampled_means(values: Floats, resamples: int) -> Floats:
    """Means of every row over questions drawn with replacement, shape (resamples, rows)."""
    rng = np.random.default_rng(0)
    questions = values.shape[1]
    batch = max(1, _BATCH // questions)
    parts = []
    for begin in range(0, resamples, batch):
        size = min(batch, resamples - begin)
        draws = rng.integers(questions, size=(size, questions))
        draws += np.arange(size)[:, None] * questions
        counts = np.bincount(draws.ravel(), minlength=size * questions).reshape(size, questions)
        parts.append(counts.astype(np.float64) @ values.T / questions)
    return np.concatenate(parts)


def _expanded_tail(questions: int) -> float:
    """The tail to cut off so that the width is that of a t interval (Hesterberg, section 3.2)."""
    from scipy.special import ndtr, stdtrit

    tail = (1.0 - _LEVEL) / 2.0
    if questions < 2:
        return tail
    widened = math.sqrt(questions / (questions - 1)) * stdtrit(questions - 1, tail)
    return float(ndtr(widened))


def _wilson(share: Floats, trials: int) -> tuple[Floats, Floats]:
    squared = _normal_quantile() ** 2
    centre = (share + squared / (2 * trials)) / (1 + squared / trials)
    spread = np.sqrt(squared * share * (1 - share) / trials + (squared / (2 * trials)) ** 2)
    half = spread / (1 + squared / trials)
    # Rounding must not cut off the share itself, or leave the range of a rate.
    low = np.maximum(np.minimum(centre - half, share), 0.0)
    return low, np.minimum(np.maximum(centre + half, share), 1.0)


def _of_two(mean: Floats, low: Floats, high: Floats, questions: int) -> Floats:
    """A metric of two values is a rate on another scale."""
    width = high - low
    share = np.divide(mean - low, width, out=np.zeros_like(mean), where=width > 0)
    ends = _wilson(np.clip(share, 0.0, 1.0), questions)
    return np.stack([low + width * end for end in ends], axis=-1)


def _of_constant(value: Floats, questions: int) -> Floats:
    """Other values, which no question showed, may have the share of Wilson's interval of 0."""
    squared = _normal_quantile() ** 2
    unseen = squared / (questions + squared)
    return np.stack([value * (1 - unseen), value + (1 - value) * unseen], axis=-1)


def _normal_quantile() -> float:
    from scipy.special import ndtri

    return float(ndtri((1.0 + _LEVEL) / 2.0))
