"""A verdict on two runs from few labels: which hits to judge, and what the judged ones tell.

The hits that two rankings differ by, and the order in which they are drawn for judging.

The difference in precision@k or DCG@k of two runs is a sum over the hits that they do not rank
alike: the weight of a hit, times whether it is relevant. Questions with the same ranking in both
add exactly 0 and need no label. The other hits are drawn without replacement. The size of a hit is
its weight times the standard deviation of its relevance, guessed from its ranks, since that gives
a sum of drawn terms the least variance (Neyman's allocation). A guess that is wrong costs labels
and never the validity of the interval.

The verdict on two runs after so many judged hits, and how many more would decide.

A confidence sequence for a sum over hits that are drawn without replacement, by their sizes.

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

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from rag.evaluation.intervals import Interval
from rag.evaluation.judge_next import OpenHit, Pair, lot, ranked
from rag.types import Floats

MEASURES = ("dcg", "precision")
"""The measures that can be decided: their difference is a sum over single hits."""

_TOP_CHANCE = 0.5  # that a first hit is relevant, before anything is known
_LEAST_VARIANCE = 0.01  # of relevance, so that no hit is drawn too seldom
_TRUST = 6.0  # the likelihood ratio of a model's verdict
_NONE: Mapping[tuple[str, str], bool] = MappingProxyType({})


def worth(measure: str, k: int) -> Floats:
    """The worth of a relevant hit by rank, shape (k,)."""
    if measure == "precision":
        return np.full(k, 1.0 / k)
    return np.asarray(1.0 / np.log2(np.arange(2, k + 2)))


def drawn_hits(
    rankings: Mapping[str, Pair],
    judged: Mapping[str, Collection[str]],
    measure: str,
    k: int,
    seed: int,
    verdicts: Mapping[tuple[str, str], bool] = _NONE,
) -> list[OpenHit]:
    """Return hits in the order of judging: first those with a label, then the others as drawn.

    The order follows from ``seed``, questions and hits alone. ``verdicts`` has what a model says of
    a question's hit: it moves the guess, and the confidence sequence corrects it.
    """
    hits = []
    worths = worth(measure, k)
    for question, item, ranks in ranked(rankings, k):
        mine, theirs = (0.0 if rank is None else float(worths[rank - 1]) for rank in ranks)
        if mine != theirs:
            weight = (mine - theirs) / len(rankings)
            # A guess: less likely further down, more likely in both, moved by a model's verdict.
            verdict = verdicts.get((question, item))
            missed = math.prod(1.0 - _TOP_CHANCE / math.sqrt(rank) for rank in ranks if rank)
            odds = (1.0 - missed) / missed
            if verdict is not None:
                odds *= _TRUST if verdict else 1.0 / _TRUST
            chance = odds / (1.0 + odds)
            deviation = math.sqrt(max(chance * (1.0 - chance), _LEAST_VARIANCE))
            hits.append(OpenHit(question, item, ranks, weight, chance, abs(weight) * deviation))
    labelled = [hit for hit in hits if hit.item in judged.get(hit.question_id, ())]
    places = {(hit.question_id, hit.item) for hit in labelled}
    rest = [hit for hit in hits if (hit.question_id, hit.item) not in places]
    rest.sort(key=lambda hit: _exponential(seed, hit) / hit.size)
    left = np.cumsum([hit.size for hit in reversed(rest)])[::-1]
    drawn = [
        replace(hit, probability=min(hit.size / total, 1.0))
        for hit, total in zip(rest, left.tolist(), strict=True)
    ]
    return [*labelled, *drawn]


def _exponential(seed: int, hit: OpenHit) -> float:
    """An exponential variable: the smallest, divided by their sizes, are a draw by size."""
    return -math.log((int.from_bytes(lot(seed, hit)[:8], "big") + 0.5) / 2.0**64)


def drawn_columns(hits: Sequence[OpenHit]) -> tuple[Floats, Floats, Floats]:
    """Weights, sizes and chances of hits, each of shape (n,)."""
    rows = np.array([(hit.weight, hit.size, hit.chance) for hit in hits], np.float64)
    columns = rows.reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


LEVEL = 0.95
LIMIT = float(np.log(2.0 / (1.0 - LEVEL)))
"""The logarithm of what has to be made on one side."""
_STAKES = np.array([0.002, 0.005, 0.01, 0.02, 0.04, 0.07, 0.12, 0.2, 0.3, 0.45, 0.65, 0.9])
_TINY = 1e-12

_PRIOR = 2.0  # draws that a prediction of nothing counts as


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

    def capital(self, relevance: Floats, sums: Floats) -> tuple[Floats, Floats]:
        """Bet against values of the whole sum, shape (values,), with the first draws judged.

        ``relevance`` is in [0, 1], shape (draws,). Returns the logarithm of what was made, so far
        at most, by bets that the sum is higher than the value and that it is lower, each of shape
        (draws, values).
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
        return np.maximum.accumulate(low), np.maximum.accumulate(high)

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


Verdict = Literal["better", "worse", "equal", "open"]
"""Of the first run. ``equal``: the whole interval is within the margin."""

_POINTS = 61  # values that are tried, over the whole range and again near the estimate
_FORECASTS = 15
_LEAST_FORECAST = 10  # judged hits
_ROUNDING = 1e-9


class Step(NamedTuple):
    """The estimate of the difference and its interval after ``labels`` judged draws."""

    labels: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Decision:
    """The state of a decision.

    ``labels`` of ``pool`` drawn hits are judged, and ``more`` would decide, about; None where
    nothing can be said yet, or it is decided. ``steps`` has the interval by labels, from none on.
    They stop at the verdict: later labels cannot change it.
    """

    verdict: Verdict
    labels: int
    pool: int
    margin: float
    more: int | None
    steps: tuple[Step, ...]

    @property
    def difference(self) -> float:
        """The estimate of the difference, first minus second."""
        return self.steps[-1].difference

    @property
    def interval(self) -> Interval:
        """The 95% interval of the difference, valid at whatever label somebody looks."""
        return Interval(self.steps[-1].low, self.steps[-1].high)


def decide(
    labelled: Sequence[tuple[OpenHit, float]],
    drawn: Sequence[OpenHit],
    relevance: Sequence[float] | Floats,
    margin: float,
) -> Decision:
    """Decide by hits that had labels before, with their relevance, and by the first drawn ones.

    ``relevance`` is that of the first of ``drawn``, in [0, 1].
    """
    base = sum(hit.weight * value for hit, value in labelled)
    draws = Draws(*drawn_columns(drawn))
    judged = np.asarray(relevance, np.float64)
    first, verdict = _first_verdict(draws, judged, base, margin)
    steps = _steps(draws, judged[:first], base)
    more = None if verdict != "open" else _more(draws, judged, base, margin)
    return Decision(verdict, first, len(drawn), margin, more, steps)


def _first_verdict(draws: Draws, judged: Floats, base: float, margin: float) -> tuple[int, Verdict]:
    """The number of judged hits that gave a verdict, or all of them."""
    low, high = base + float(draws.least[0]), base + float(draws.most[0])
    if max(-low, high) <= margin:
        return 0, "equal"
    if low > 0.0 or high < 0.0:
        return 0, "better" if low > 0.0 else "worse"
    higher, lower = draws.capital(judged, np.array([0.0, margin, -margin]) - base)
    better, worse = higher[:, 0] >= LIMIT, lower[:, 0] >= LIMIT
    equal = (lower[:, 1] >= LIMIT) & (higher[:, 2] >= LIMIT)
    if len(judged) == len(draws):  # the difference is known
        exact = base + float(draws.weights @ judged)
        equal[-1] |= abs(exact) <= margin + _ROUNDING
        better[-1] |= exact > _ROUNDING
        worse[-1] |= exact < -_ROUNDING
    decided = better | worse | equal
    if not decided.any():
        return len(judged), "open"
    at = int(np.argmax(decided))
    return at + 1, "equal" if equal[at] else "better" if better[at] else "worse"


def _steps(draws: Draws, judged: Floats, base: float) -> tuple[Step, ...]:
    low, high = float(draws.least[0]), float(draws.most[0])
    start = Step(0, base + (low + high) / 2.0, base + low, base + high)
    if not len(judged):
        return (start,)
    means = draws.means(judged)
    centre, near = float(means[-1]), (high - low) / 10.0
    tried = np.unique(
        np.clip(
            [*np.linspace(low, high, _POINTS), *np.linspace(centre - near, centre + near, _POINTS)],
            low,
            high,
        )
    )
    higher, lower = draws.capital(judged, tried)
    lows = _crossings(higher, tried)
    highs = -_crossings(lower[:, ::-1], -tried[::-1])
    seen = np.cumsum(draws.weights[: len(judged)] * judged)
    lows = np.maximum(lows, np.maximum.accumulate(seen + draws.least[1 : len(judged) + 1]))
    highs = np.minimum(highs, np.minimum.accumulate(seen + draws.most[1 : len(judged) + 1]))
    highs = np.maximum(highs, lows)
    means = np.clip(means, lows, highs)
    rows = np.stack([means, lows, highs], axis=1) + base
    return (start, *(Step(at, *row) for at, row in enumerate(rows.tolist(), start=1)))


def _crossings(capital: Floats, values: Floats) -> Floats:
    """The value of each row up to which everything is ruled out: capital falls with the value."""
    kept = capital < LIMIT
    at = np.where(kept.any(axis=1), np.argmax(kept, axis=1), len(values) - 1)
    before = np.maximum(at - 1, 0)
    rows = np.arange(len(capital))
    high, low = capital[rows, before], capital[rows, at]
    with np.errstate(invalid="ignore"):
        share = np.where(
            np.isfinite(high) & (high > low), (high - LIMIT) / np.maximum(high - low, 1e-12), 0.0
        )
    crossing = values[before] + np.clip(share, 0.0, 1.0) * (values[at] - values[before])
    return np.asarray(np.where(at == 0, values[0], crossing))


def _more(draws: Draws, judged: Floats, base: float, margin: float) -> int | None:
    """The median number of further labels over continuations drawn by what was judged so far.

    Relevance is drawn by the guesses, scaled on either side to what was confirmed there. Nothing
    but this forecast depends on it.
    """
    count, total = len(judged), len(draws)
    if count < _LEAST_FORECAST:
        return None
    chances, up = draws.chances, draws.weights > 0
    overall = (float(judged.sum()) + 1.0) / (float(chances[:count].sum()) + 2.0)
    scaled = np.zeros(total)
    for side in (up, ~up):
        mine = side[:count]
        share = (float(judged[mine].sum()) + 2.0 * overall) / (
            float(chances[:count][mine].sum()) + 2.0
        )
        scaled[side] = np.clip(share * chances[side], 0.0, 1.0)
    needed = []
    rng = np.random.default_rng(count)
    for _ in range(_FORECASTS):
        rest = (rng.random(total - count) < scaled[count:]).astype(np.float64)
        at = _needed(draws, np.concatenate([judged, rest]), base, margin)
        needed.append(at - count)
    return max(1, int(np.median(needed)))


def _needed(draws: Draws, relevance: Floats, base: float, margin: float) -> int:
    """The first verdict of a continuation, looked for in ever longer beginnings of it."""
    horizon = min(len(relevance), 200)
    while True:
        at, verdict = _first_verdict(draws, relevance[:horizon], base, margin)
        if verdict != "open" or horizon == len(relevance):
            return at
        horizon = min(2 * horizon, len(relevance))
