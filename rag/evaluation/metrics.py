"""Ranking metrics, as trec_eval defines them, for many questions (and many recipes) at once.

Buckley et al., trec_eval; Järvelin and Kekäläinen (2002) for nDCG, with linear gains. Precision
divides by k, also when fewer came back; nDCG is normalised over the top k of everything judged;
MAP divides by the number of relevant passages; a question without hits scores 0 and counts in the
mean; a grade of 0 or less is not relevant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from rag.errors import InvalidInput
from rag.types import Floats

_WHOLE = re.compile("[1-9][0-9]{0,5}")


class RankStatistics(Protocol):
    """The statistics of rankings that metrics need; values have shape (..., questions)."""

    @property
    def relevant(self) -> Floats:
        """Number of relevant passages."""

    @property
    def first(self) -> Floats:
        """Rank of the first relevant hit, infinite without one."""

    def relevant_hits(self, k: int) -> Floats:
        """Relevant hits among the first k."""

    def discounted(self, k: int) -> Floats:
        """DCG of the first k."""

    def summed_precision(self, k: int) -> Floats:
        """Sum of the precisions at the ranks of the relevant hits among the first k."""

    def ideal_discounted(self, k: int) -> Floats:
        """The best possible DCG of k hits."""


@dataclass(frozen=True)
class Ranked:
    """Retrieved and ideal gains by rank; implements ``RankStatistics``.

    ``gains``: shape (..., questions, depth), the grade of the hit at each rank, 0 if it is not
    relevant or there is no hit. ``ideal``: shape (questions, any), all positive grades, descending,
    padded with 0; metrics use its first k. ``relevant``: shape (questions,), the number of relevant
    passages. Leading axes of ``gains`` (recipes) share the other two.
    """

    gains: Floats
    ideal: Floats
    relevant: Floats

    @classmethod
    def of(
        cls, grades: Sequence[Sequence[int]], ideals: Sequence[Sequence[int]], depth: int
    ) -> Ranked:
        """From the grades of what came back, and of all that is relevant, by question."""
        ideal = _padded(ideals, max(map(len, ideals), default=0))
        return cls(_padded(grades, depth), ideal, (ideal > 0).sum(axis=1).astype(np.float64))

    @cached_property
    def first(self) -> Floats:
        """Rank of the first relevant hit, infinite without one."""
        if not self.gains.shape[-1]:
            return np.full(self.gains.shape[:-1], np.inf)
        hit = self.gains > 0
        return np.where(hit.any(axis=-1), hit.argmax(axis=-1) + 1.0, np.inf)

    def relevant_hits(self, k: int) -> Floats:
        """Relevant hits among the first k."""
        return _upto(self._relevant_hits, k)

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
    def _relevant_hits(self) -> Floats:
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
        return np.cumsum(np.where(self.gains > 0, self._relevant_hits / ranks, 0.0), axis=-1)


def _padded(rows: Sequence[Sequence[int]], width: int) -> Floats:
    table = np.zeros((len(rows), width))
    for row, values in zip(table, rows, strict=True):
        row[: len(values)] = values
    return table


def _dcg(gains: Floats) -> Floats:
    positive = np.maximum(gains, 0.0)
    return np.cumsum(positive / np.log2(np.arange(2, gains.shape[-1] + 2)), axis=-1)


def _upto(sums: Floats, k: int) -> Floats:
    depth = min(k, sums.shape[-1])
    return sums[..., depth - 1] if depth else np.zeros(sums.shape[:-1])


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.divide(part, whole, out=np.zeros(part.shape), where=whole > 0)


MEASURES: Mapping[str, Callable[[RankStatistics, int], Floats]] = MappingProxyType(
    {
        "precision": lambda ranked, k: ranked.relevant_hits(k) / k,
        "recall": lambda ranked, k: _ratio(ranked.relevant_hits(k), ranked.relevant),
        # 2PR / (P + R) with P = found / k and R = found / relevant
        "f1": lambda ranked, k: 2 * ranked.relevant_hits(k) / (k + ranked.relevant),
        "hit": lambda ranked, k: (ranked.first <= k).astype(np.float64),
        "mrr": lambda ranked, k: np.where(ranked.first <= k, 1 / ranked.first, 0.0),
        "map": lambda ranked, k: _ratio(ranked.summed_precision(k), ranked.relevant),
        "ndcg": lambda ranked, k: _ratio(ranked.discounted(k), ranked.ideal_discounted(k)),
    }
)
"""Every measure by name: from what came back and k, to one figure per question."""
LOWER_IS_BETTER = frozenset({"misleading", "false_refusal", "false_doubt"})
"""Measures, of rankings and of answers, that count faults."""
WITHOUT_DIRECTION = frozenset({"conflicting_sources"})
"""Measures that make no run better: sources that disagree may be told rightly or wrongly."""


def lower_is_better(name: str) -> bool:
    """Return whether a metric, such as ``misleading@5``, is the better the lower it is."""
    return name.partition("@")[0] in LOWER_IS_BETTER


class Metric(NamedTuple):
    """``ndcg@10``: a measure of ``MEASURES``, and how many of the first hits it looks at."""

    measure: str
    k: int


def parse_metric(name: str) -> Metric:
    """``"ndcg@10"`` as measure and k. Raises InvalidInput for anything else than NAME@K, K >= 1."""
    measure, _, digits = name.partition("@")
    if measure not in MEASURES or not _WHOLE.fullmatch(digits):
        raise InvalidInput(
            f"{name!r} is not a metric.",
            "Write one of " + ", ".join(f"{measure}@K" for measure in MEASURES) + ", K from 1.",
        )
    return Metric(measure, int(digits))


def evaluate(ranked: RankStatistics, names: Iterable[str]) -> dict[str, Floats]:
    """Every metric of ``names`` per question, shape (..., questions). Raises InvalidInput."""
    metrics = {name: parse_metric(name) for name in names}
    return {name: MEASURES[metric.measure](ranked, metric.k) for name, metric in metrics.items()}
