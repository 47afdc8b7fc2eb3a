"""Whether a mean difference over the same questions is more than chance, and when one could tell.

The randomisation test is the one that Smucker, Allan and Carterette recommend (A Comparison of
Statistical Significance Tests for Information Retrieval Evaluation, CIKM 2007): if the two runs
were equal, every difference could as well have the other sign.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rag.types import Floats

RESAMPLES = 9999
_EXACT = 13  # up to so many differences, all 2 ** 13 sign patterns are tried
_BATCH = 1 << 21  # signs held at once
_SAME = 1e-9  # sums closer than this, in units of the summed differences, are equal


def randomisation_p(differences: Floats, resamples: int = RESAMPLES, seed: int = 0) -> float:
    """Two-sided p-value of a mean difference; ``differences`` has shape (questions,).

    Exact where few questions differ; otherwise (b + 1) / (n + 1) for b of n random sign patterns
    whose sum is at least as far from 0, so it is never 0. No differences at all give 1.
    """
    sizes = np.abs(differences[differences != 0])
    if not len(sizes):
        return 1.0
    least = abs(float(differences.sum())) - _SAME * float(sizes.sum())
    if len(sizes) <= _EXACT:
        patterns = np.arange(1 << len(sizes))[:, None] >> np.arange(len(sizes)) & 1
        return float((np.abs(_signed_sums(patterns, sizes)) >= least).mean())
    return (_random_hits(sizes, least, resamples, seed) + 1) / (resamples + 1)


def _random_hits(sizes: Floats, least: float, resamples: int, seed: int) -> int:
    """How many random sign patterns give a sum of at least ``least``, either way."""
    rng = np.random.default_rng(seed)
    batch = max(1, _BATCH // len(sizes))
    hits = 0
    for begin in range(0, resamples, batch):
        shape = (min(batch, resamples - begin), len(sizes))
        patterns = rng.integers(2, size=shape, dtype=np.int8)
        hits += int((np.abs(_signed_sums(patterns, sizes)) >= least).sum())
    return hits


def _signed_sums(patterns: npt.NDArray[np.integer], sizes: Floats) -> Floats:
    """Sums with the signs of every pattern of 0 (minus) and 1 (plus)."""
    return np.asarray(2.0 * (patterns.astype(np.float64) @ sizes) - sizes.sum())


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


def questions_needed(differences: Floats, power: float = 0.8, alpha: float = 0.05) -> int | None:
    """How many questions would show a difference like this one, with probability ``power``.

    Two-sided, from mean and standard deviation (normal approximation with Guenther's correction,
    The American Statistician 1981). None where there is nothing to go by: fewer than two
    questions, or a mean difference of 0. The true difference may be smaller than the one seen, so
    it is an order of magnitude, not a promise.
    """
    from scipy.special import ndtri

    if len(differences) < 2:
        return None
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    if abs(mean) <= _SAME * float(np.abs(differences).sum()):
        return None
    upper = float(ndtri(1.0 - alpha / 2.0))
    by_spread = ((upper + float(ndtri(power))) * deviation / mean) ** 2 + upper**2 / 2.0
    # Below this many, even differences of one sign throughout are not enough.
    fewest = 1.0 - math.log2(alpha)
    return math.ceil(max(by_spread, fewest))
