"""The power of a question set: the smallest difference that would probably be detected.

It is reported before anything is measured. Computed afterwards from the observed difference, it
adds no information, and adding questions until the set is large enough finds winners among equal
runs (Hoenig and Heisey, The Abuse of Power, The American Statistician 2001).

Alpha spending: significance levels that share the risk of a false winner on one question set.

The first look at a set has the level that any winner needs, 0.02. All later looks share another
0.03, however many there are: the n-th look has 0.03 / (n (n - 1)), and these levels add up to 0.03.
Repeated attempts therefore call an equal recipe a winner in at most 5 of 100 sets, whatever the
looks have in common (Foster and Stine, Alpha-Investing, JRSS B 2008, section 2: alpha spending).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rag.evaluation.comparison import CROWNING_P
from rag.evaluation.metrics import metric_name
from rag.types import Floats, percent

LATER = 0.03
"""What all looks after the first share."""


def level(number: int) -> float:
    """The p-value that a winner of the ``number``-th look needs, counted from 1."""
    return CROWNING_P if number < 2 else LATER / (number * (number - 1))


POWER = 0.8
TYPICAL_DEVIATION = 0.25
"""Standard deviation of a question's difference where no two runs tell: docs/how-do-you-know.md has
what recipes of public collections differ by."""
_LEAST_CHANGED = 0.02
"""Runs that differ on fewer of the questions are almost the same recipe, and tell nothing."""
_FEWEST_PAIRS = 3
"""Pairs of which fewer may all be of nearly equal recipes: their spread may raise, not lower, the
usual one. Three different runs are three pairs."""
_LEAST_DEVIATION = 0.05
"""A smaller spread of nearly equal recipes says nothing about the next one."""
_FEWEST_SHARED = 20
"""Of fewer questions a spread is too uncertain to plan with: most differences are 0."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The smallest difference that ``questions`` (or groups of them) can detect.

    ``smallest`` is the mean difference that is detected with probability ``POWER``; None if there
    are too few questions to detect any. ``deviation`` is the assumed standard deviation of a
    question's difference in ``metric``: the largest of ``pairs`` pairs of runs; ``pairs`` is 0 for
    the usual deviation.
    """

    questions: int
    smallest: float | None
    deviation: float
    pairs: int
    metric: str = "ndcg@10"

    @property
    def headline(self) -> str:
        """The smallest difference that can be detected, in one sentence."""
        count = f"{self.questions:,} question{'' if self.questions == 1 else 's'}"
        if self.smallest is None or self.smallest > 1.0:
            return f"With {count} you cannot tell recipes apart."
        return (
            f"With {count} you can tell recipes apart that differ by {self.smallest:.2f} "
            f"{metric_name(self.metric)} or more."
        )

    @property
    def basis(self) -> str:
        """The origin of the deviation, in one sentence; "" if nothing can be detected."""
        if self.smallest is None or self.smallest > 1.0:
            return ""
        if not self.pairs:
            return (
                "This is an estimate, until three different recipes were evaluated on "
                f"{_FEWEST_SHARED} labelled questions."
            )
        runs = "the latest runs" if self.pairs > 1 else "two runs"
        return f"The spread between questions is measured on {runs}."

    @property
    def method(self) -> str:
        """The assumptions of the headline, in sentences; "" if nothing can be detected."""
        if self.smallest is None or self.smallest > 1.0:
            return ""
        runs = "runs" if self.pairs > 1 else "two runs"
        assumed = f"the {runs} of this set so far" if self.pairs else "recipes usually do"
        return (
            f"The test detects such a difference in {percent(POWER)} of the cases. This assumes "
            f"that recipes differ from question to question as much as {assumed}."
        )

    @property
    def sentence(self) -> str:
        """The headline and the method."""
        return f"{self.headline} {self.method}".strip()


def plan(questions: int, runs: Sequence[Mapping[str, float]] = (), metric: str = "ndcg@10") -> Plan:
    """Return the plan for a number of questions; ``runs`` map question ids to ``metric``.

    Runs of recipes that hardly differ tell little about the next one, so the largest spread counts.
    """
    deviations = [
        spread for first, second in combinations(runs, 2) if (spread := _spread(first, second))
    ]
    pairs, deviation = len(deviations), max(deviations, default=0.0)
    if pairs < _FEWEST_PAIRS and deviation < TYPICAL_DEVIATION:
        pairs, deviation = 0, TYPICAL_DEVIATION
    deviation = max(deviation, _LEAST_DEVIATION)
    return Plan(questions, smallest_difference(questions, deviation), deviation, pairs, metric)


def smallest_difference(questions: int, deviation: float) -> float | None:
    """The mean difference that a two-sided test at ``CROWNING_P`` notices with chance ``POWER``.

    From the standard deviation of a question's difference (normal approximation with Guenther's
    correction, The American Statistician 1981). None where even differences of one sign throughout
    would not be enough.
    """
    from scipy.special import ndtri

    upper = float(ndtri(1.0 - CROWNING_P / 2.0))
    if questions < max(1.0 - math.log2(CROWNING_P), upper**2 / 2.0 + 1.0):
        return None
    return (upper + float(ndtri(POWER))) * deviation / math.sqrt(questions - upper**2 / 2.0)


def _spread(first: Mapping[str, float], second: Mapping[str, float]) -> float | None:
    """Standard deviation of the differences; None for few questions or almost the same runs."""
    shared = [question for question in first if question in second]
    differences: Floats = np.array([first[name] - second[name] for name in shared])
    if len(shared) < _FEWEST_SHARED or (np.abs(differences) > 1e-12).mean() < _LEAST_CHANGED:
        return None
    return float(differences.std(ddof=1))
