"""Ranking metrics, as trec_eval defines them, for many questions (and many recipes) at once.

Buckley et al., trec_eval; Järvelin and Kekäläinen (2002) for nDCG, with linear gains. Precision
divides by k, also when fewer came back; nDCG is normalised over the top k of everything judged;
MAP divides by the number of relevant passages; a question without hits scores 0 and counts in the
mean; a grade of 0 or less is not relevant.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from rag.evaluation.metrics.names import parse_metric
from rag.types import Floats

if TYPE_CHECKING:
    from rag.evaluation.metrics.names import Qrels


class RankStatistics(Protocol):
    """What a measure asks of rankings; figures have shape (..., questions)."""

    @property
    def relevant(self) -> Floats:
        """How many passages are relevant."""
        ...

    @property
    def first(self) -> Floats:
        """Rank of the first relevant hit, infinite without one."""
        ...

    def found(self, k: int) -> Floats:
        """Relevant hits among the first k."""
        ...

    def discounted(self, k: int) -> Floats:
        """DCG of the first k."""
        ...

    def summed_precision(self, k: int) -> Floats:
        """Sum of the precisions at the ranks of the relevant hits among the first k."""
        ...

    def ideal_discounted(self, k: int) -> Floats:
        """The best possible DCG of k hits."""
        ...


@dataclass(frozen=True)
class Ranked:
    """What came back, as gains by rank, beside what could have: a ``RankStatistics``.

    ``gains``: shape (..., questions, depth), the grade of the hit at each rank, 0 where it is not
    relevant or nothing came. ``ideal``: shape (questions, any), all positive grades, descending,
    padded with 0; metrics look at its first k. ``relevant``: shape (questions,), how many passages
    are relevant. Leading axes of ``gains`` (recipes) share the other two.
    """

    gains: Floats
    ideal: Floats
    relevant: Floats

    @cached_property
    def first(self) -> Floats:
        """Rank of the first relevant hit, infinite without one."""
        if not self.gains.shape[-1]:
            return np.full(self.gains.shape[:-1], np.inf)
        hit = self.gains > 0
        return np.where(hit.any(axis=-1), hit.argmax(axis=-1) + 1.0, np.inf)

    def found(self, k: int) -> Floats:
        """Relevant hits among the first k."""
        return _upto(self._found, k)

    def discounted(self, k: int) -> Floats:
        """DCG of the first k."""
        return _upto(self._discounted, k)

    def summed_precision(self, k: int) -> Floats:
        """Sum of the precisions at the ranks of the relevant hits among the first k."""
        return _upto(self._summed_precision, k)

    def ideal_discounted(self, k: int) -> Floats:
        """The best possible DCG of k hits."""
        return _upto(self._ideal_discounted, k)

    @cached_property
    def _found(self) -> Floats:
        return np.cumsum(self.gains > 0, axis=-1, dtype=np.float64)

    @cached_property
    def _discounted(self) -> Floats:
        return _dcg(self.gains)

    @cached_property
    def _ideal_discounted(self) -> Floats:
        return _dcg(self.ideal)

    @cached_property
    def _summed_precision(self) -> Floats:
        ranks = np.arange(1, self.gains.shape[-1] + 1)
        return np.cumsum(np.where(self.gains > 0, self._found / ranks, 0.0), axis=-1)


def _dcg(gains: Floats) -> Floats:
    positive = np.maximum(gains, 0.0)
    return np.cumsum(positive / np.log2(np.arange(2, gains.shape[-1] + 2)), axis=-1)


def _upto(sums: Floats, k: int) -> Floats:
    depth = min(k, sums.shape[-1])
    return sums[..., depth - 1] if depth else np.zeros(sums.shape[:-1])


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


def _precision(ranked: RankStatistics, k: int) -> Floats:
    return ranked.found(k) / k


def _recall(ranked: RankStatistics, k: int) -> Floats:
    return _ratio(ranked.found(k), ranked.relevant)


def _f1(ranked: RankStatistics, k: int) -> Floats:
    # 2PR / (P + R) with P = found / k and R = found / relevant
    return 2 * ranked.found(k) / (k + ranked.relevant)


def _hit(ranked: RankStatistics, k: int) -> Floats:
    return (ranked.first <= k).astype(np.float64)


def _reciprocal_rank(ranked: RankStatistics, k: int) -> Floats:
    return np.where(ranked.first <= k, 1 / ranked.first, 0.0)


def _average_precision(ranked: RankStatistics, k: int) -> Floats:
    return _ratio(ranked.summed_precision(k), ranked.relevant)


def _ndcg(ranked: RankStatistics, k: int) -> Floats:
    return _ratio(ranked.discounted(k), ranked.ideal_discounted(k))


MEASURES: Mapping[str, Callable[[RankStatistics, int], Floats]] = MappingProxyType(
    {
        "precision": _precision,
        "recall": _recall,
        "f1": _f1,
        "hit": _hit,
        "mrr": _reciprocal_rank,
        "map": _average_precision,
        "ndcg": _ndcg,
    }
)
"""Every measure by name: from what came back and k, to one figure per question."""


def evaluate(ranked: RankStatistics, names: Iterable[str]) -> dict[str, Floats]:
    """Every metric of ``names`` per question, shape (..., questions). Raises InvalidInput."""
    metrics = {name: parse_metric(name) for name in names}
    return {name: MEASURES[metric.measure](ranked, metric.k) for name, metric in metrics.items()}


def evaluate_rankings(
    qrels: Qrels, rankings: Mapping[str, Sequence[str]], names: Sequence[str]
) -> dict[str, Floats]:
    """Metrics of lists of passage ids, best first, taken as they are; otherwise like a run."""
    depth = max((parse_metric(name).k for name in names), default=1)
    places = []
    for row, (question, grades) in enumerate(qrels.items()):
        for rank, passage in enumerate(rankings.get(question, ())[:depth]):
            places.append((row, rank, grades.get(passage, 0)))
    return evaluate(_ranked(qrels, np.array(places, np.int64).reshape(-1, 3), depth), names)


def _ranked(qrels: Qrels, places: npt.NDArray[np.int64], depth: int) -> Ranked:
    """Gains and ideal from ``places``: rows (question, rank from 0, grade)."""
    gains = np.zeros((len(qrels), depth))
    places = places[places[:, 1] < depth]
    gains[places[:, 0], places[:, 1]] = np.maximum(places[:, 2], 0)
    best = [
        sorted((grade for grade in grades.values() if grade > 0), reverse=True)
        for grades in qrels.values()
    ]
    counts = np.fromiter(map(len, best), np.int64, len(best))
    ideal = np.zeros((len(best), int(counts.max(initial=0))))
    ideal[np.arange(ideal.shape[1]) < counts[:, None]] = list(itertools.chain.from_iterable(best))
    return Ranked(gains, ideal, counts.astype(np.float64))
