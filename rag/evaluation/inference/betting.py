"""The mean of figures in [-1, 1] that somebody watches while they come in.

A confidence sequence by betting: a bet against a mean m with figures whose mean it is makes
more than twenty times the stake at any time with a probability of at most 1 in 20 (Ville 1939), so
every m against which that much is made is ruled out, however often one looks. The stakes are those
of Waudby-Smith and Ramdas (Estimating means of bounded random variables by betting, JRSS B 2024),
spread evenly over fractions of the largest stake that cannot ruin, on both sides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rag.types import Floats

LEVEL = 0.95
_EDGE, _POINTS = 0.9975, 799  # means that are tried: 0 is one of them
_STAKES = np.arange(1, 20) / 20.0  # shares of the largest stake


class Watched(NamedTuple):
    """A mean with its interval; 0 lies outside of it exactly where it is ``decided``."""

    mean: float
    low: float
    high: float
    decided: bool


def watched_mean(figures: Floats) -> Watched:
    """The mean of ``figures`` in [-1, 1], shape (n,), with an interval that may be looked at often.

    Their order does not matter. Without figures the interval is [-1, 1].
    """
    values = np.asarray(figures, np.float64)
    if not len(values):
        return Watched(0.0, -1.0, 1.0, decided=False)
    tried = np.linspace(-_EDGE, _EDGE, _POINTS)
    tried[_POINTS // 2] = 0.0
    different, counts = np.unique(values, return_counts=True)
    remaining = tried[capital(different, tried, counts.astype(np.float64)) < _limit()]
    mean = float(values.mean())
    if not len(remaining):  # a mean at the very edge, with many figures
        remaining = np.array([np.clip(mean, -_EDGE, _EDGE)])
    low = -1.0 if remaining[0] == tried[0] else float(remaining[0])
    high = 1.0 if remaining[-1] == tried[-1] else float(remaining[-1])
    return Watched(mean, min(low, mean), max(high, mean), decided=not low <= 0.0 <= high)


def capital(figures: Floats, against: Floats, counts: Floats | None = None) -> Floats:
    """The logarithm of what is made of one by betting against means in (-1, 1), shape (rows,).

    ``figures`` has shape (n,), or (rows, n) for samples of their own, and ``counts`` (n,) says how
    often each came up (once).
    """
    values = np.asarray(figures, np.float64)[..., None, :]
    means = np.asarray(against, np.float64)[:, None, None]
    stakes = np.concatenate([_STAKES / (1.0 + means), -_STAKES / (1.0 - means)], axis=2)
    gained = np.log1p(stakes.transpose(0, 2, 1) * (values - means))
    gains = gained.sum(axis=2) if counts is None else gained @ counts
    most = gains.max(axis=1, keepdims=True)
    log_capital: Floats = most[:, 0] + np.log(np.exp(gains - most).mean(axis=1))
    return log_capital


def _limit() -> float:
    return float(-np.log(1.0 - LEVEL))
