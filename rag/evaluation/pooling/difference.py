"""Two runs by labels with gaps: the difference as labels have it, and where the true one lies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.evaluation.intervals import Interval, signed
from rag.evaluation.metrics import Ranked, evaluate, metric_title, parse_metric
from rag.evaluation.pooling.bounds import BOUNDED, OpenPair, difference_bounds
from rag.evaluation.report.words import counted
from rag.types import percent


def condensed_ndcg(ids: Sequence[str], grades: Mapping[str, int], k: int) -> float:
    """nDCG@k of a ranking without its unjudged hits, those below moving up.

    Sakai: Alternatives to Bpref, SIGIR 2007. ``grades`` has every judged passage, 0 where it is
    not relevant. It is not the metric that full labels would give: runs that the labels were not
    made from tend to be flattered, where counting open hits as not relevant wrongs them.
    """
    gains = [max(grades[item], 0) for item in ids if item in grades][:k]
    ideal = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    return float(evaluate(Ranked.of([gains], [ideal], k), [f"ndcg@{k}"])[f"ndcg@{k}"][0])


def bpref(ids: Sequence[str], grades: Mapping[str, int]) -> float:
    """Return bpref, which falls with the judged non-relevant hits above relevant ones.

    Buckley and Voorhees: Retrieval Evaluation with Incomplete Information, SIGIR 2004, as trec_eval
    computes it. Relevant passages that are not in the ranking add nothing. The value is 0 without
    relevant passages.
    """
    relevant = sum(grade > 0 for grade in grades.values())
    least = min(relevant, len(grades) - relevant)
    total = above = 0.0
    for item in ids:
        grade = grades.get(item)
        if grade is not None and grade > 0:
            total += 1.0 - (min(above, least) / least if least else 0.0)
        elif grade is not None:
            above += 1
    return total / relevant if relevant else 0.0


@dataclass(frozen=True, slots=True)
class JudgedRankings:
    """The rankings of two runs for a question, best first, and the grades of the judged hits.

    The two mappings of grades differ if the runs chunk documents differently; otherwise both are
    the same.
    """

    first: Sequence[str]
    second: Sequence[str]
    grades: Mapping[str, int]
    grades_of_second: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PooledDifference:
    """A run and another one, over ``questions`` that have relevant labels, at depth k.

    ``open_shares``: the share of the first k of each that nobody judged. ``bounds``: where the mean
    difference of ``metric`` lies, whatever they are; None for metrics without bounds.
    ``condensed`` (nDCG) and ``bpref``: the means of both by judged hits alone. ``highest``: the
    highest grade in use. ``unlabelled``: answerable questions of the set that are in no figure
    here, as no relevant passage of the documents is known for them. ``identical``: both rank the
    same passages alike for all questions.
    """

    metric: str
    questions: int
    unlabelled: int
    open_shares: tuple[float, float]
    bounds: Interval | None
    highest: int
    condensed: tuple[float, float]
    bpref: tuple[float, float]
    identical: bool = False

    @property
    def sentence(self) -> str:
        """The unjudged shares and their possible effect in words; "" if all hits are judged."""
        if self.identical or not any(self.open_shares):
            return ""
        k = parse_metric(self.metric).k
        mine, theirs = self.open_shares
        parts = [
            f"Unjudged, and counted as not relevant: {percent(mine)} of the first {k} hits of "
            f"this run and {percent(theirs)} of the other's.",
            self._bounded(),
        ]
        by_judged = {f"condensed nDCG@{k}": self.condensed, "bpref": self.bpref}
        changed = [
            f"{name} {mine:.3f} instead of {theirs:.3f}"
            for name, (mine, theirs) in by_judged.items()
            if f"{mine:.3f}" != f"{theirs:.3f}"
        ]
        if changed:
            parts.append(f"By judged hits only: {', '.join(changed)}.")
        if self.unlabelled:
            parts.append(
                f"This leaves out {counted(self.unlabelled, 'question')} without a labelled "
                "passage in the documents. Metrics count a label whose text is lost as a passage "
                "that was not retrieved."
            )
        return " ".join(parts)

    def _bounded(self) -> str:
        if self.bounds is None:
            return f"There are no bounds for {metric_title(self.metric)}."
        low, high = self.bounds
        return (
            f"Their grades (up to {self.highest}) and relevant passages that neither run "
            f"retrieved can move the difference in {metric_title(self.metric)} on these "
            f"questions to any value between {signed(low)} and {signed(high)}."
        )


def pooled_difference(
    metric: str,
    rankings: Mapping[str, JudgedRankings],
    *,
    same_cut: bool = True,
    highest: int = 1,
    unlabelled: int = 0,
) -> PooledDifference:
    """From the rankings of questions with relevant labels, by id; there must be one.

    ``same_cut``: both rank the same passages, so that what is relevant is the same for both.
    """
    measure, k = parse_metric(metric)
    rows = list(rankings.values())
    ends = [_bounds(measure, row, k, highest, same_cut) for row in rows if measure in BOUNDED]
    return PooledDifference(
        metric=metric,
        questions=len(rows),
        unlabelled=unlabelled,
        open_shares=open_shares(rows, k),
        bounds=Interval(*np.mean(ends, axis=0).tolist()) if ends else None,
        highest=highest,
        condensed=(
            float(np.mean([condensed_ndcg(row.first, row.grades, k) for row in rows])),
            float(np.mean([condensed_ndcg(row.second, row.grades_of_second, k) for row in rows])),
        ),
        bpref=(
            float(np.mean([bpref(row.first, row.grades) for row in rows])),
            float(np.mean([bpref(row.second, row.grades_of_second) for row in rows])),
        ),
        identical=same_cut and all(list(row.first) == list(row.second) for row in rows),
    )


def open_shares(rows: Sequence[JudgedRankings], k: int) -> tuple[float, float]:
    """The share of the first k that nobody judged, of the first and of the second run."""
    return (
        _open([(row.first[:k], row.grades) for row in rows]),
        _open([(row.second[:k], row.grades_of_second) for row in rows]),
    )


def _bounds(
    measure: str, row: JudgedRankings, k: int, highest: int, same_cut: bool
) -> tuple[float, float]:
    if same_cut:
        return difference_bounds(measure, OpenPair(row.first, row.second, row.grades, k, highest))
    mine = difference_bounds(measure, OpenPair(row.first, (), row.grades, k, highest))
    theirs = difference_bounds(measure, OpenPair(row.second, (), row.grades_of_second, k, highest))
    return mine.low - theirs.high, mine.high - theirs.low


def _open(cut: Sequence[tuple[Sequence[str], Mapping[str, int]]]) -> float:
    hits = sum(len(ids) for ids, _ in cut)
    unjudged = sum(item not in grades for ids, grades in cut for item in ids)
    return unjudged / hits if hits else 0.0
