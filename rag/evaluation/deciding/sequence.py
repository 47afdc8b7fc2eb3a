"""A confidence sequence for a sum over hits that are drawn without replacement, by their sizes.

After t judged draws, the term of the next one is weight / probability x (relevance - prediction),
plus the predicted sum of all that are left. Its mean is the true sum of all that are left, whatever
is predicted: that is the difference estimator, so predictions narrow the interval and cannot shift
it. A bet against a value m of the whole sum makes more than forty times the stake at any time with
a probability of at most 1 in 40 where m is the sum (Ville 1939). Every m against which that much
was made is therefore ruled out, on each side, and stays so, however often one looks. The bets are
those of Shekhar, Xu, Lipton, Liang and Ramdas (Risk-limiting financial audits via weighted sampling
without replacement, UAI 2023), spread evenly over fractions of the largest stake that cannot ruin,
as in ``rag.evaluation.inference.betting``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rag.types import Floats

LEVEL = 0.95
LIMIT = float(np.log(2.0 / (1.0 - LEVEL)))
"""The logarithm of what has to be made on one side."""
_STAKES = np.array([0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9])
_TINY = 1e-12
_ROUNDING = 1e-9
_PRIOR = 2.0  # draws that a prediction of nothing counts as


@dataclass(frozen=True, slots=True)
class Capital:
    """The logarithm of what bets made, so far at most, shape (draws, values).

    ``low`` is of bets that the sum is higher than the value, ``high`` that it is lower.
    """

    low: Floats
    high: Floats


class Draws:
    """Hits in the order in which they were drawn, each array of shape (n,).

    ``chances`` are guesses of relevance from before the draw.
    """

    def __init__(self, weights: Floats, sizes: Floats, chances: Floats) -> None:
        self.weights, self.sizes, self.chances = weights, sizes, chances
        ratios = np.abs(weights) / sizes
        self._left = _from_here(sizes)
        self._predicted = _from_here(weights * chances)
        up, down = np.where(weights > 0, ratios, 0.0), np.where(weights < 0, ratios, 0.0)
        self._up, self._down = _largest_from_here(up), _largest_from_here(down)
        self._up_predicted = _largest_from_here(up * chances)
        self._down_predicted = _largest_from_here(down * chances)

    def __len__(self) -> int:
        return len(self.weights)

    @cached_property
    def most(self) -> Floats:
        """The highest sum of the hits from each draw on, shape (n + 1,)."""
        return np.append(_from_here(np.maximum(self.weights, 0.0)), 0.0)

    @cached_property
    def least(self) -> Floats:
        """The lowest sum of the hits from each draw on, shape (n + 1,)."""
        return np.append(_from_here(np.minimum(self.weights, 0.0)), 0.0)

    def capital(self, relevance: Floats, sums: Floats) -> Capital:
        """Bet against values of the whole sum, shape (values,), with the first draws judged.

        ``relevance`` is in [0, 1], shape (draws,).
        """
        count = len(relevance)
        weights = self.weights[:count]
        terms, lows, highs = self._terms(relevance)
        seen = np.concatenate([[0.0], np.cumsum(weights * relevance)])
        rest = sums[None, :] - seen[:-1, None]
        after = sums[None, :] - seen[1:, None]
        low = _log_capital(terms[:, None] - rest, rest - lows[:, None])
        high = _log_capital(rest - terms[:, None], highs[:, None] - rest)
        low[after < self.least[1 : count + 1, None] - _ROUNDING] = np.inf
        high[after > self.most[1 : count + 1, None] + _ROUNDING] = np.inf
        return Capital(np.maximum.accumulate(low), np.maximum.accumulate(high))

    def means(self, relevance: Floats) -> Floats:
        """The estimate of the whole sum after each draw, shape (draws,): unbiased at every one."""
        terms, _, _ = self._terms(relevance)
        seen = np.cumsum(self.weights[: len(relevance)] * relevance)
        estimates = terms + np.concatenate([[0.0], seen[:-1]])
        return np.asarray(np.cumsum(estimates) / np.arange(1, len(relevance) + 1))

    def scale(self, relevance: Floats) -> Floats:
        """The share of the guessed relevance that earlier draws confirm, before each draw."""
        chances = self.chances[: len(relevance)]
        confirmed = np.concatenate([[0.0], np.cumsum(relevance * chances)[:-1]])
        guessed = np.concatenate([[0.0], np.cumsum(chances**2)[:-1]])
        return np.clip(confirmed / (guessed + _PRIOR), 0.0, 1.0)

    def _terms(self, relevance: Floats) -> tuple[Floats, Floats, Floats]:
        """The term of each draw, with the lowest and the highest that it could have been."""
        count = len(relevance)
        if not count:
            return np.zeros(0), np.zeros(0), np.zeros(0)
        scale, left = self.scale(relevance), self._left[:count]
        expected = scale * self._predicted[:count]
        inflated = self.weights[:count] / self.sizes[:count] * left
        terms = inflated * (relevance - scale * self.chances[:count]) + expected
        lows = expected - left * np.maximum(scale * self._up_predicted[:count], self._down[:count])
        highs = expected + left * np.maximum(self._up[:count], scale * self._down_predicted[:count])
        return terms, lows, highs


def _log_capital(gains: Floats, room: Floats) -> Floats:
    """The logarithm of the mean capital over all stakes, after each draw."""
    shares = gains / np.maximum(room, _TINY)
    total = np.full(gains.shape, -np.inf)
    for stake in _STAKES:
        won = np.cumsum(np.log1p(np.maximum(stake * shares, _TINY - 1.0)), axis=0)
        total = np.logaddexp(total, won)
    return np.asarray(total - np.log(len(_STAKES)))


def _from_here(values: Floats) -> Floats:
    return np.cumsum(values[::-1])[::-1]


def _largest_from_here(values: Floats) -> Floats:
    return np.maximum.accumulate(values[::-1])[::-1]
