"""Metrics of scored runs held as dictionaries, in plain Python.

Only the few relevant hits of a question matter, so there is no array to fill; and a script that
scores a run is done before NumPy would have been imported. What is imported here is counted: most
of the time of such a script is its start.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left
from types import MappingProxyType

from rag.errors import InvalidInput
from rag.evaluation.metrics.names import parse_metric

TYPE_CHECKING = False  # the name is enough for type checkers
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rag.evaluation.metrics.names import Qrels, Run

    Found = Sequence[tuple[int, int]]
    """Rank (from 1) and grade of the relevant hits, best rank first: never empty."""
    Ideal = Sequence[float]
    """The best possible DCG of one hit, of two ... of all that is relevant: never empty."""
    _Measure = Callable[[Found, int, Ideal], float]


def evaluate_run(qrels: Qrels, run: Run, names: Sequence[str]) -> dict[str, array[float]]:
    """Metrics of a scored run, one figure per question of ``qrels``, in its order.

    Equals trec_eval: higher scores come first, compared in single precision; equal scores are
    ordered by passage id, descending. Questions that only the run knows are ignored. Raises
    InvalidInput for an unknown metric or a score that is not a number.
    """
    table = {name: array("d", bytes(8 * len(qrels))) for name in names}
    columns: dict[int, list[tuple[_Measure, array[float]]]] = {}
    for name, column in table.items():
        metric = parse_metric(name)
        columns.setdefault(metric.k, []).append((_MEASURES[metric.measure], column))
    ideals: dict[tuple[int, ...], Ideal] = {}  # many questions are labelled alike
    for row, (question, grades) in enumerate(qrels.items()):
        hits = run.get(question)
        found = _found(grades, hits) if hits else ()
        if not found:
            continue
        best = tuple(sorted([grade for grade in grades.values() if grade > 0], reverse=True))
        ideal = ideals.get(best)
        if ideal is None:
            ideal = ideals[best] = _ideal(best)
        last = found[-1][0]
        for k, wanted in columns.items():
            first = found if last <= k else [place for place in found if place[0] <= k]
            if first:  # every measure is 0 without a relevant hit
                for measure, column in wanted:
                    column[row] = measure(first, k, ideal)
    return table


def _found(grades: Mapping[str, int], hits: Mapping[str, float]) -> Found:
    """The relevant hits of a question by rank."""
    values = hits.values()
    if math.isnan(sum(values)) and any(map(math.isnan, values)):
        raise InvalidInput("A score of the run is not a number.", "Remove the hit, or score it.")
    wanted = [
        (hits[name], name, grade) for name, grade in grades.items() if grade > 0 and name in hits
    ]
    if not wanted:
        return ()
    ascending = sorted(values)
    places = [(_rank(score, name, ascending, hits), grade) for score, name, grade in wanted]
    places.sort()
    return places


def _rank(score: float, name: str, ascending: Sequence[float], hits: Mapping[str, float]) -> int:
    """Rank of a hit, from 1, among scores compared in single precision."""
    size, low = len(ascending), bisect_left(ascending, score)
    high = low + 1
    while high < size and _same(ascending[high], score):
        high += 1
    while low and _same(ascending[low - 1], score):
        low -= 1
    rank = size - high + 1
    if high - low > 1:
        rank += sum(other > name and _same(value, score) for other, value in hits.items())
    return rank


def _same(one: float, other: float) -> bool:
    """Whether two scores are equal in single precision."""
    # The usual case, without the cost of the exact answer.
    if abs(one - other) > _APART * (abs(one) + abs(other)) + _TINY:
        return False
    return array("f", (one,)) == array("f", (other,))


_APART, _TINY = 1e-6, 1e-37
"""Scores that differ by more than this share, and are not near zero, differ in single precision."""
_DISCOUNTS = tuple(math.log2(rank + 1) for rank in range(1, 1025))


def _ideal(best: tuple[int, ...]) -> Ideal:
    sums, total = [], 0.0
    for rank, grade in enumerate(best, start=1):
        total += grade / _discount(rank)
        sums.append(total)
    return sums


def _gain(found: Found) -> float:
    total = 0.0  # not sum(), which rounds in another way from Python 3.12 on
    for rank, grade in found:
        total += grade / _discount(rank)
    return total


def _discount(rank: int) -> float:
    return _DISCOUNTS[rank - 1] if rank <= len(_DISCOUNTS) else math.log2(rank + 1)


def _summed_precision(found: Found) -> float:
    total = 0.0
    for number, (rank, _) in enumerate(found, start=1):
        total += number / rank
    return total


_MEASURES: Mapping[str, _Measure] = MappingProxyType(
    {
        "precision": lambda first, k, ideal: len(first) / k,
        "recall": lambda first, k, ideal: len(first) / len(ideal),
        "f1": lambda first, k, ideal: 2 * len(first) / (k + len(ideal)),
        "hit": lambda first, k, ideal: 1.0,
        "mrr": lambda first, k, ideal: 1 / first[0][0],
        "map": lambda first, k, ideal: _summed_precision(first) / len(ideal),
        "ndcg": lambda first, k, ideal: _gain(first) / ideal[min(k, len(ideal)) - 1],
    }
)
"""Those of ``metrics.ranked`` for one question, from its relevant hits among the first k."""
