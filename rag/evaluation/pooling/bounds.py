"""Bounds of the difference between two rankings under any judgement of the unjudged hits.

The bounds assume nothing of unjudged hits but the highest grade, and nothing of relevant passages
that no run retrieved: there may be any number of them, of any grade. The true difference therefore
lies between the bounds, however the labels were made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from types import MappingProxyType

import numpy as np

from rag.evaluation.intervals import Interval
from rag.types import Floats, Integers

_MOST_PATTERNS = 4000  # of grades of open hits; beyond, a looser bound is taken


@dataclass(frozen=True, slots=True)
class OpenPair:
    """Two rankings of one question, cut at k, best first, and what labels say of them.

    ``grades`` has the judged passages, 0 where not relevant; all else is open. One ranking alone is
    a pair with an empty second one. ``highest``: the highest grade that a passage can have.
    """

    first: Sequence[str]
    second: Sequence[str]
    grades: Mapping[str, int]
    k: int
    highest: int

    @property
    def swapped(self) -> OpenPair:
        """The other way round."""
        return OpenPair(self.second, self.first, self.grades, self.k, self.highest)

    def weights(self) -> dict[str, float]:
        """Return the weight of each hit, open or not, in the DCG@k difference, per grade."""
        gains = dict.fromkeys([*self.first[: self.k], *self.second[: self.k]], 0.0)
        for sign, ids in ((1.0, self.first), (-1.0, self.second)):
            for item, discount in zip(ids[: self.k], _discounts(self.k), strict=False):
                gains[item] += sign * float(discount)
        return gains

    def ideal(self) -> float:
        """The ideal DCG@k of what is known to be relevant."""
        return float(_ideal(np.array([self._relevant()], np.float64), self.k)[0])

    def _relevant(self) -> list[int]:
        return [grade for grade in self.grades.values() if grade > 0]

    def highest_ndcg(self) -> float:
        """The highest difference in nDCG@k.

        Where the first can be ahead, no further passage is relevant, as each makes the ideal larger
        and the lead smaller; where it cannot, so many are that its arrears are least.
        """
        weights = self.weights()
        judged_gain = sum(max(self.grades.get(item, 0), 0) * gain for item, gain in weights.items())
        gains = [gain for item, gain in weights.items() if item not in self.grades and gain > 0]
        best = judged_gain + self.highest * sum(gains)
        if best <= 0.0:
            return best / (self.highest * float(_discounts(self.k).sum()))
        if comb(len(gains) + self.highest, self.highest) > _MOST_PATTERNS:
            ideal = self.ideal()
            return min(1.0, best / ideal) if ideal else 1.0
        patterns = _patterns(len(gains), self.highest)
        relevant = np.array(self._relevant(), np.float64)
        gains_of_all = np.concatenate(
            [np.broadcast_to(relevant, (len(patterns), len(relevant))), patterns], 1
        )
        ideal_of = _ideal(gains_of_all, self.k)
        lead = judged_gain + patterns @ -np.sort(-np.array(gains, np.float64))
        return float(np.divide(lead, ideal_of, out=np.zeros(len(lead)), where=ideal_of > 0).max())

    def highest_share(self, of: int | None) -> float:
        """The highest difference in relevant hits, divided by ``of``, or by all relevant ones."""
        ahead, judged_share = self._ahead()
        relevant = sum(grade > 0 for grade in self.grades.values())
        best = ahead + judged_share
        if of is not None:
            return best / of
        if best <= 0:
            return 0.0  # with more and more relevant passages that neither has
        return best / (relevant + ahead)

    def _ahead(self) -> tuple[int, int]:
        """Open hits that only the first has, and its lead in known relevant ones."""
        mine, theirs = set(self.first[: self.k]), set(self.second[: self.k])
        ahead = sum(item not in self.grades for item in mine - theirs)
        return ahead, self._count(mine) - self._count(theirs)

    def _count(self, ids: Collection[str]) -> int:
        return sum(self.grades.get(item, 0) > 0 for item in ids)

    def highest_first(self, worth: Callable[[int], float]) -> float:
        """The highest difference of a figure of the rank of the first relevant hit."""
        mine = self._first(self.first, lambda item: self.grades.get(item, 1) > 0)
        theirs = self._first(self.second, lambda item: self.grades.get(item, 0) > 0)
        return (worth(mine) if mine else 0.0) - (worth(theirs) if theirs else 0.0)

    def _first(self, ids: Sequence[str], relevant: Callable[[str], bool]) -> int:
        ranks = (rank for rank, item in enumerate(ids[: self.k], start=1) if relevant(item))
        return next(ranks, 0)


_HIGHEST: Mapping[str, Callable[[OpenPair], float]] = MappingProxyType(
    {
        "ndcg": OpenPair.highest_ndcg,
        "precision": lambda pair: pair.highest_share(pair.k),
        "recall": lambda pair: pair.highest_share(None),
        "hit": lambda pair: pair.highest_first(lambda _: 1.0),
        "mrr": lambda pair: pair.highest_first(lambda rank: 1.0 / rank),
    }
)
BOUNDED = tuple(_HIGHEST)
"""The measures of which differences have bounds."""


def difference_bounds(measure: str, pair: OpenPair) -> Interval:
    """Return the bounds of one question's difference in a metric of ``BOUNDED``."""
    highest = _HIGHEST[measure]
    return Interval(-highest(pair.swapped), highest(pair))


def _discounts(k: int) -> Floats:
    return np.asarray(1.0 / np.log2(np.arange(2, k + 2)))


def _ideal(grades: Floats, k: int) -> Floats:
    """Ideal DCG@k of each row of grades."""
    best = -np.sort(-grades, axis=1)[:, :k]
    return np.asarray(best @ _discounts(k)[: best.shape[1]])


@cache
def _patterns(hits: int, highest: int) -> Integers:
    """Every multiset of so many grades from 0, each row descending."""
    rows: list[tuple[int, ...]] = [()]
    for _ in range(hits):
        rows = [(*row, grade) for row in rows for grade in range((row or (highest,))[-1] + 1)]
    return np.array(rows, np.int64).reshape(len(rows), hits)
