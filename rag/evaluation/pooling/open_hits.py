"""Two runs by labels with gaps: what judging the open hits could make of their difference.

Labels count open hits as not relevant, which wrongs a run that they were not made from. Counted as
relevant as the other run's hits of that rank, they rather flatter it. What both say alike is
decided; the bounds of ``bounds`` assume less, and would leave next to nothing decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rag.evaluation.comparison import Comparison, Groups, OpenHits, compare
from rag.evaluation.metrics import MEASURES, Ranked, evaluate, parse_metric
from rag.evaluation.pooling.difference import JudgedRankings, open_shares
from rag.types import Floats, Integers, Mask

_DRAWS = 20
_Grades = Mapping[str, int]


def with_open_hits(
    comparisons: Mapping[str, Comparison],
    judged: Mapping[str, JudgedRankings],
    groups: Groups | None = None,
    *,
    same_cut: bool = True,
) -> dict[str, Comparison]:
    """Comparisons of two runs by metric, with what judging their open hits could make of each.

    ``judged`` has the questions with relevant labels. Measures that do not rank passages, and runs
    that do not compare, stay as they are.
    """
    together: dict[tuple[str, ...], list[str]] = {}
    for metric, comparison in comparisons.items():
        if metric.partition("@")[0] in MEASURES and not comparison.obstacle:
            question_ids = tuple(name for name in judged if name in comparison.differences)
            together.setdefault(question_ids, []).append(metric)
    hits: dict[str, OpenHits | None] = {}
    for question_ids, metrics in together.items():
        if question_ids:
            rankings = {name: judged[name] for name in question_ids}
            hits |= open_hits(metrics, rankings, groups, same_cut=same_cut)
    return dict(comparisons) | {
        metric: replace(comparisons[metric], open_hits=open_hits)
        for metric, open_hits in hits.items()
    }


def open_hits(
    metrics: Sequence[str],
    rankings: Mapping[str, JudgedRankings],
    groups: Groups | None = None,
    *,
    same_cut: bool = True,
) -> dict[str, OpenHits | None]:
    """From the rankings of questions with relevant labels, by id; None where nothing is open.

    As many open hits on both sides speak for neither. Of those that the less judged run has beyond
    that, each takes the grade that a hit of its rank has in the other run for some question, drawn
    ``_DRAWS`` times: where that one is judged whole, this one becomes as good at what is open.
    ``same_cut``: both rank the same passages, so that what is relevant is so for both.
    """
    rows = list(rankings.values())
    by_depth: dict[int, list[str]] = {}
    for metric in metrics:
        by_depth.setdefault(parse_metric(metric).k, []).append(metric)
    by_metric: dict[str, OpenHits | None] = dict.fromkeys(metrics)
    for k, names in by_depth.items():
        shares = open_shares(rows, k)
        if not any(shares):
            continue
        for name, (first, second) in _means(names, rows, k, same_cut).items():
            compared = compare(
                name,
                dict(zip(rankings, first.tolist(), strict=True)),
                dict(zip(rankings, second.tolist(), strict=True)),
                groups=groups,
            )
            by_metric[name] = OpenHits(k, shares, compared.difference, compared.interval_95)
    return by_metric


def _means(
    metrics: Sequence[str], rows: Sequence[JudgedRankings], k: int, same_cut: bool
) -> dict[str, tuple[Floats, Floats]]:
    """The metrics of each question in both runs, shape (questions,): means over the draws."""
    first = _Side.of([(row.first, row.grades) for row in rows], k)
    second = _Side.of([(row.second, row.grades_of_second) for row in rows], k)
    turned = first.open.sum() < second.open.sum()
    less, more = (second, first) if turned else (first, second)
    shared = _shared(rows, k, turned) if same_cut else np.zeros_like(less.open)
    drawn: dict[str, list[tuple[Floats, Floats]]] = {name: [] for name in metrics}
    for grades in _draws(less, more, less.open & ~shared):
        filled = less.with_grades(grades)
        other = more.beside(grades) if same_cut else more
        figures, others = (evaluate(side.ranked, metrics) for side in (filled, other))
        for name in metrics:
            drawn[name].append((figures[name], others[name]))
    means = {}
    for name, pairs in drawn.items():
        of_less, of_more = (np.stack(figures).mean(axis=0) for figures in zip(*pairs, strict=True))
        means[name] = (of_more, of_less) if turned else (of_less, of_more)
    return means


@dataclass(frozen=True, slots=True)
class _Side:
    """The first k hits of a run for every question, and all that is relevant to them.

    ``gains`` and ``open`` have shape (questions, k): the grade at each rank, 0 where it is not
    relevant, open, or nothing came, and whether it is open. ``ideal``, of the same shape, has the
    best grades, descending; ``relevant``, shape (questions,), says how many there are.
    """

    gains: Integers
    open: Mask
    ideal: Integers
    relevant: Integers

    @classmethod
    def of(cls, judged: Sequence[tuple[Sequence[str], _Grades]], k: int) -> _Side:
        shape = len(judged), k
        gains, open_ = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        ideal, relevant = np.zeros(shape, np.int64), np.zeros(len(judged), np.int64)
        for number, (ids, grades) in enumerate(judged):
            hits = [grades.get(item) for item in ids[:k]]
            gains[number, : len(hits)] = [max(grade or 0, 0) for grade in hits]
            open_[number, : len(hits)] = [grade is None for grade in hits]
            best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
            ideal[number, : len(best)] = best[:k]
            relevant[number] = len(best)
        return cls(gains, open_, ideal, relevant)

    @property
    def ranked(self) -> Ranked:
        """The gains in the form that metrics are computed from."""
        return Ranked(
            self.gains.astype(np.float64),
            self.ideal.astype(np.float64),
            self.relevant.astype(np.float64),
        )

    def with_grades(self, grades: Integers) -> _Side:
        """With grades for open hits, shape (questions, k), 0 elsewhere."""
        return replace(self.beside(grades), gains=self.gains + grades)

    def beside(self, grades: Integers) -> _Side:
        """With the same grades for passages that this side has not among its first k."""
        k = self.ideal.shape[1]
        grades_of_all = np.sort(np.concatenate([self.ideal, grades], axis=1), axis=1)
        ideal = grades_of_all[:, ::-1][:, :k]
        return replace(self, ideal=ideal, relevant=self.relevant + (grades > 0).sum(axis=1))


def _shared(rows: Sequence[JudgedRankings], k: int, turned: bool) -> Mask:
    """Return a mask of the less judged run's first k hits that the other run also has there.

    These hits count for both runs and stay open. The shape is (rows, k).
    """
    shared = np.zeros((len(rows), k), np.bool_)
    for number, row in enumerate(rows):
        mine, theirs = (row.second, row.first) if turned else (row.first, row.second)
        both = set(theirs[:k])
        shared[number, : len(mine[:k])] = [item in both for item in mine[:k]]
    return shared


def _draws(less: _Side, more: _Side, free: Mask) -> Iterator[Integers]:
    """Grades for the ``free`` hits of the less judged run, ``_DRAWS`` times.

    Shape (questions, k), 0 where nothing is drawn.
    """
    surplus = int(less.open.sum()) - int(more.open.sum())
    share = surplus / max(int(free.sum()), surplus, 1)
    ranks = [np.flatnonzero(row) for row in free]
    dice = np.random.default_rng(0)
    for _ in range(_DRAWS):
        grades = np.zeros_like(less.gains)
        for number, places in enumerate(ranks):
            if share and len(places):
                relevant = dice.random(len(places)) < share
                like = dice.integers(len(ranks), size=len(places))
                grades[number, places] = np.where(relevant, more.gains[like, places], 0)
        yield grades
