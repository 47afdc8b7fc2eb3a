"""Two runs by labels with gaps: what judging the open hits could make of their difference.

Labels count open hits as not relevant, which wrongs a run that they were not made from. Counted as
relevant as the other run's hits of that rank, they rather flatter it. What both say alike is
decided; the bounds of ``bounds`` assume less, and would leave next to nothing decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rag.evaluation.comparison import Groups, OpenHits, compare
from rag.evaluation.metrics import Ranked, evaluate, parse_metric
from rag.evaluation.pooling.difference import JudgedRankings, open_shares
from rag.types import Floats, Integers

_DRAWS = 20

_Grades = Mapping[str, int]


def open_hits(
    metric: str,
    rankings: Mapping[str, JudgedRankings],
    groups: Groups | None = None,
    *,
    same_cut: bool = True,
) -> OpenHits | None:
    """From the rankings of questions with relevant labels, by id; None where nothing is open.

    As many open hits on both sides speak for neither. Of those that the less judged run has beyond
    that, each takes the grade that a hit of its rank has in the other run for some question, drawn
    ``_DRAWS`` times: where that one is judged whole, this one becomes as good at what is open.
    ``same_cut``: both rank the same passages, so that what is relevant is so for both.
    """
    k = parse_metric(metric).k
    rows = list(rankings.values())
    shares = open_shares(rows, k)
    if not any(shares):
        return None
    turned = _count(rows, k) < _count(list(map(_swapped, rows)), k)
    ordered = list(map(_swapped, rows)) if turned else rows
    filled = _filled(ordered, k, same_cut)
    less = _means(metric, [(row.first, row.grades) for row in filled], len(rows))
    more = _means(metric, [(row.second, row.grades_of_second) for row in filled], len(rows))
    first, second = (more, less) if turned else (less, more)
    found = compare(
        metric,
        dict(zip(rankings, first.tolist(), strict=True)),
        dict(zip(rankings, second.tolist(), strict=True)),
        groups=groups,
    )
    return OpenHits(k, shares, found.difference, found.interval)


def _swapped(row: JudgedRankings) -> JudgedRankings:
    return JudgedRankings(row.second, row.first, row.grades_of_second, row.grades)


def _count(rows: Sequence[JudgedRankings], k: int) -> int:
    """Open hits among the first k of the first run."""
    return sum(item not in row.grades for row in rows for item in row.first[:k])


def _filled(rows: Sequence[JudgedRankings], k: int, same_cut: bool) -> list[JudgedRankings]:
    """The rankings with grades for open hits of the first run, ``_DRAWS`` times one after another.

    Hits that both runs have count for both and stay open.
    """
    both = [set(row.second[:k]) if same_cut else set[str]() for row in rows]
    free = [
        [
            (rank, item)
            for rank, item in enumerate(row.first[:k])
            if item not in row.grades and item not in shared
        ]
        for row, shared in zip(rows, both, strict=True)
    ]
    more = _count(rows, k) - _count(list(map(_swapped, rows)), k)
    share = more / max(sum(map(len, free)), more, 1)
    likely = _by_rank(rows, k)
    dice = np.random.default_rng(0)
    found = []
    for _ in range(_DRAWS):
        for row, hits in zip(rows, free, strict=True):
            taken = dice.random(len(hits)) < share
            like = dice.integers(len(rows), size=len(hits))
            drawn = {
                item: int(likely[rank, number])
                for (rank, item), kept, number in zip(hits, taken, like, strict=True)
                if kept
            }
            grades = {**row.grades, **drawn}
            others = grades if same_cut else row.grades_of_second
            found.append(JudgedRankings(row.first, row.second, grades, others))
    return found


def _by_rank(rows: Sequence[JudgedRankings], k: int) -> Integers:
    """Grades of the second run's hits, shape (k, questions), 0 where open or nothing came."""
    known = np.zeros((k, len(rows)), np.int64)
    for number, row in enumerate(rows):
        for rank, item in enumerate(row.second[:k]):
            known[rank, number] = max(row.grades_of_second.get(item, 0), 0)
    return known


def _means(metric: str, judged: Sequence[tuple[Sequence[str], _Grades]], questions: int) -> Floats:
    """The metric of each question, shape (questions,): the mean over its draws."""
    k = parse_metric(metric).k
    gains = [[max(grades.get(item, 0), 0) for item in ids[:k]] for ids, grades in judged]
    ideals = [
        sorted((grade for grade in grades.values() if grade > 0), reverse=True)
        for _, grades in judged
    ]
    figures = evaluate(Ranked.of(gains, ideals, k), [metric])[metric]
    return np.asarray(figures.reshape(-1, questions).mean(axis=0))
