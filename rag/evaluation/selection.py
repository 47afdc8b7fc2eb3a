"""The best of many recipes: whether it is more than luck, and what it is worth elsewhere.

The highest of many means is partly luck. So the winner gets three statements:

- whether it beats the baseline: a sign-flip test of the largest of all studentised differences
  (Westfall and Young, Resampling-Based Multiple Testing, 1993). All recipes change sign together,
  question by question, so those that do the same count as one. No question is set aside for it.
- what it gains: cross-validated selection (Stone, Cross-Validatory Choice and Assessment of
  Statistical Predictions, JRSS B 1974). In each fold the winner of the other folds is measured on
  questions that had no part in choosing it, over many ways to lay the folds.
- how far off that may be: the interval whose lower end allows for all recipes by the same test.
  Its upper end needs no allowance, as luck only lifts what is picked.

Folds overlap in what they choose on, so no variance of theirs is unbiased (Bengio and Grandvalet,
No Unbiased Estimator of the Variance of K-Fold Cross-Validation, JMLR 2004): none is used.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.comparison import CROWNING_P, Comparison, Groups, clusters_of
from rag.evaluation.inference.bounded_means import lower_bounds, tails
from rag.evaluation.inference.clusters import Clusters
from rag.evaluation.intervals import Interval
from rag.evaluation.significance import LEVEL, RESAMPLES, SKEWED, sign_patterns
from rag.evaluation.splits import folds, selection_headline
from rag.types import Floats, Order, percent

FEWEST = 2
"""Questions, to choose by some and measure on others."""
FOLDS = 5
REPEATS = 20
_TIE = 1e-12
_SAME = 1e-9
_PATTERNS = 10  # times the smallest p-value that the level needs
_MOST_PATTERNS = 199_999
_MISS = (1.0 - LEVEL) / 2.0
_ANY = Interval(-1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Selection:
    """The best recipe of all questions, and what cross-validation says that it is worth.

    ``row`` is its place among the recipes; ``tried`` is how many different ones it was chosen from.
    ``lead`` is its lead over the baseline on the questions that chose it, in units of the metric.
    ``comparison`` has the gain on questions that did not, question by question, and the verdict;
    ``agreement`` is the share of the training parts in which the same recipe was the best.
    """

    row: int
    tried: int
    questions: int
    lead: float
    agreement: float
    comparison: Comparison

    @property
    def gain(self) -> float:
        """The lead on questions that had no part in the choice."""
        return self.comparison.difference

    @property
    def headline(self) -> str:
        """The verdict on the winner, in one sentence."""
        return selection_headline(self.comparison, self.lead, self.tried)

    @property
    def method(self) -> str:
        """The procedure behind the headline, in sentences; "" if no recipe leads."""
        if self.lead <= 0:
            return ""
        return (
            f"On the {self.questions:,} questions, the best of {self.tried:,} different recipes "
            f"leads by {self.lead:.3f}. To estimate its gain on unseen questions, the best recipe "
            f"was chosen on four fifths of the questions and measured on the rest, {REPEATS} times "
            f"over. {percent(self.agreement)} of these choices were this recipe. The interval is "
            "that of the lead, as Runs has it for these two recipes, with a lower end that allows "
            "for the choice. On few questions, both are the same."
        )

    @property
    def sentence(self) -> str:
        """The headline and the method."""
        return f"{self.headline} {self.method}".strip()


def select(
    metric: str,
    scores: Floats,
    questions: Sequence[str],
    baseline: int,
    *,
    groups: Groups | None = None,
    strata: Mapping[str, Hashable] | None = None,
    alpha: float = CROWNING_P,
    tried: int | None = None,
    seed: int = 0,
) -> Selection:
    """Pick the recipe with the best mean and say what it is worth.

    ``scores`` has shape (recipes, questions), columns aligned with ``questions``; ``baseline`` is a
    row. The baseline wins a tie, then the earlier row. Questions of a group stay
    together; ``strata`` are in all folds alike. Raises InvalidInput for fewer than two questions.
    """
    clusters = clusters_of(questions, groups or {})
    if len(questions) < FEWEST:
        raise InvalidInput(
            f"Too few questions to choose a recipe ({len(questions)}).", "Label more questions."
        )
    differences = np.asarray(scores - scores[baseline], np.float64)
    differences[np.abs(differences) <= _TIE] = 0.0
    means = differences.mean(axis=1)
    best = _leading(means, [baseline])
    layout = _fold_codes(questions, groups or {}, strata or {}, seed)
    gains, agreement = _cross_validated(differences, [baseline, best], layout)
    lead = float(means[best]) if best != baseline else 0.0
    p, raw, guarded, interval, usual = (
        _judged(differences, best, clusters, alpha)
        if best != baseline and len(clusters) > 1
        else (1.0, 1.0, False, _ANY, _ANY)
    )
    gain = float(gains.mean())
    if gain <= 0:
        p = 1.0
    before = float(scores[baseline].mean())
    number = len(np.unique(differences, axis=0)) if tried is None else tried
    return Selection(
        row=best,
        tried=number,
        questions=len(questions),
        lead=lead,
        agreement=agreement,
        comparison=Comparison(
            metric=metric,
            differences=dict(zip(questions, gains.tolist(), strict=True)),
            mean=before + gain,
            baseline=before,
            interval=_around(interval, gain, p, alpha),
            raw_p=raw,
            p=p,
            interval_95=_around(usual, gain, p, _MISS),
            confidence=1.0 - 2.0 * alpha,  # the test is one-sided, an interval has two ends
            compared=number,
            alpha=alpha,
            picked=True,
            guarded=guarded and gain > 0,
            clusters=len(clusters),
            design_effect=clusters.design_effect(differences[best]),
        ),
    )


def _leading(means: Floats, first: Sequence[int]) -> int:
    """The row of the highest mean; ``first`` win ties. Differences of rounding size are ties."""
    top = means.max() - _TIE
    return next((row for row in first if means[row] >= top), int(np.argmax(means >= top)))


def _fold_codes(
    questions: Sequence[str], groups: Groups, strata: Mapping[str, Hashable], seed: int
) -> Order:
    """The fold of each question, shape (repeats, questions)."""
    return np.array(
        [
            folds(questions, FOLDS, seed * REPEATS + repeat, groups=groups, strata=strata)
            for repeat in range(REPEATS)
        ],
        np.intp,
    )


def _cross_validated(
    differences: Floats, first: Sequence[int], layout: Order
) -> tuple[Floats, float]:
    """The gain of each question over all repeats, and how often the winner of all was chosen."""
    total = differences.sum(axis=1)
    gains, chosen, parts = np.zeros(differences.shape[1]), 0, 0
    for codes in layout:
        inside = np.zeros((differences.shape[1], FOLDS))
        inside[np.arange(len(codes)), codes] = 1.0
        rest = total[:, None] - differences @ inside
        for fold in range(FOLDS):
            held_out = codes == fold
            if not held_out.any() or held_out.all():
                continue
            winner = _leading(rest[:, fold] / np.count_nonzero(~held_out), first)
            gains[held_out] += differences[winner, held_out]
            chosen, parts = chosen + (winner == first[-1]), parts + 1
    return gains / len(layout), chosen / max(parts, 1)


def _judged(
    differences: Floats, best: int, clusters: Clusters, alpha: float
) -> tuple[float, float, bool, Interval, Interval]:
    """P-value of the best for all and by itself, and two intervals of its mean difference.

    Whether one more question alone leaves it undecided comes before them. The interval at the
    level of the test comes before that of 95%.
    """
    moved = np.flatnonzero((differences != 0).any(axis=1))
    rows = np.unique(np.round(differences[moved], 12), axis=0)
    totals, sizes = clusters.sums(np.concatenate([differences[[best]], rows])), clusters.sizes
    pseudo = clusters.pseudo_values(totals[:1], sizes)
    # An order that does not depend on how the questions came.
    order = np.lexsort((sizes, *totals[::-1]))
    totals, sizes, pseudo = totals[:, order], sizes[order], pseudo[:, order]
    norms = np.sqrt((totals**2).sum(axis=1, keepdims=True))
    units = np.divide(totals, norms, out=np.zeros_like(totals), where=norms > 0)
    seen = float(units[0].sum())
    resamples = min(max(RESAMPLES, math.ceil(_PATTERNS / alpha)), _MOST_PATTERNS)
    alone, highest = _flipped(units, resamples)
    at_least = seen - _SAME
    raw, by_signs = float((alone >= at_least).mean()), float((highest >= at_least).mean())
    # One more question that was lost outright, for as many recipes as the correction amounts to.
    many = _worth_of(float(np.quantile(highest, 1.0 - CROWNING_P)))
    worst = -clusters.moving_together(differences[[best]])
    p = min(max(by_signs, float(tails(pseudo, worst)[0]) * many / SKEWED), 1.0)
    mean, spread = float(pseudo.mean()), float(pseudo.std()) * math.sqrt(len(sizes))

    def interval(miss: float) -> Interval:
        reach = float(np.quantile(highest, 1.0 - miss, method="higher"))
        reach_alone = float(np.quantile(alone, 1.0 - miss, method="higher"))
        low = mean - _half_width(reach, spread, len(sizes))
        high = mean + _half_width(reach_alone, spread, len(sizes))
        low = min(low, float(lower_bounds(pseudo, worst, min(miss * SKEWED / many, 0.5))[0]))
        high = max(high, -float(lower_bounds(-pseudo, worst, miss * SKEWED)[0]))
        return Interval(max(low, -1.0), min(high, 1.0))

    return p, raw, by_signs <= alpha < p, interval(alpha), interval(_MISS)


def _flipped(units: Floats, resamples: int) -> tuple[Floats, Floats]:
    """Sums under random signs: of the first row, and the highest of all rows.

    What was seen is one of the patterns.
    """
    first, highest = [], []
    for patterns in sign_patterns(units.shape[1], resamples):
        sums = units @ patterns.T
        first.append(sums[0])
        highest.append(sums.max(axis=0))
    return np.concatenate(first), np.concatenate(highest)


def _half_width(reach: float, spread: float, clusters: int) -> float:
    """Return the shift after which the studentised mean of the rest is ``reach``."""
    rest = 1.0 - reach**2 / clusters
    return 2.0 if rest <= 0 else reach * spread / (clusters * math.sqrt(rest))


def _worth_of(reach: float) -> float:
    """Return the effective number of independent tests, from the reach that all tests share."""
    from scipy.special import ndtr

    return max(1.0, CROWNING_P / max(float(ndtr(-reach)), 1e-9))


def _around(interval: Interval, gain: float, p: float, miss: float) -> Interval:
    """An interval that holds the gain, and 0 unless p is small."""
    low = max(interval.low, math.nextafter(0.0, 1.0)) if p <= miss else min(interval.low, 0.0)
    return Interval(min(low, gain), max(interval.high, gain))
