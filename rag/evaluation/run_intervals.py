"""Confidence intervals of a run's metrics, from its stored results by question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rag.evaluation.comparison import Groups, clusters_of
from rag.evaluation.intervals import Interval, mean_intervals
from rag.evaluation.judging import Spans
from rag.evaluation.pooling.bounds import DifferenceBounds, OpenPair, difference_bounds
from rag.evaluation.relevance import best_grades, judged_by_document, relevant_chunks
from rag.evaluation.unjudged import judged_passages
from rag.results import QuestionResult
from rag.types import Floats, Question

_REFUSALS = {"correct_refusal": False, "false_refusal": True}


def intervals(
    results: Sequence[QuestionResult], names: Sequence[str], groups: Groups | None = None
) -> dict[str, Interval]:
    """The 95% interval of each mean in ``names``, over the questions that have the figure."""
    known = groups or {}
    found = {
        name: _refusals(results, _REFUSALS[name], known) for name in names if name in _REFUSALS
    }
    of_metrics = _tables(results, [name for name in names if name not in _REFUSALS])
    for metrics, asked, rows in of_metrics:
        ends = mean_intervals(rows, clusters_of(asked, known)).tolist()
        found |= {name: Interval(*each) for name, each in zip(metrics, ends, strict=True)}
    return {name: found[name] for name in names if name in found}


def _refusals(results: Sequence[QuestionResult], answerable: bool, groups: Groups) -> Interval:
    refused = np.array([_refused(results, answerable)], np.float64)
    asked = [item.question_id for item in results if item.answerable == answerable]
    return Interval(*mean_intervals(refused, clusters_of(asked, groups))[0].tolist())


def _refused(results: Sequence[QuestionResult], answerable: bool) -> list[bool]:
    return [not item.ranking for item in results if item.answerable == answerable]


@dataclass(frozen=True, slots=True)
class TagFigures:
    """The questions of a set that have a ``tag``: means by metric, and their 95% intervals.

    A metric that none of these questions has is absent.
    """

    tag: str
    questions: int
    means: Mapping[str, float]
    intervals: Mapping[str, Interval]


def by_tag(
    results: Sequence[QuestionResult], names: Sequence[str], groups: Groups | None = None
) -> list[TagFigures]:
    """Figures of a run in ``names`` for each tag, that of most questions first."""
    tagged: dict[str, list[QuestionResult]] = {}
    for item in results:
        for tag in dict.fromkeys(item.tags):
            tagged.setdefault(tag, []).append(item)
    rows = sorted(tagged.items(), key=lambda entry: (-len(entry[1]), entry[0]))
    return [_of_tag(tag, held, names, groups) for tag, held in rows]


def _of_tag(
    tag: str, held: Sequence[QuestionResult], names: Sequence[str], groups: Groups | None
) -> TagFigures:
    values = {name: _values(held, name) for name in names}
    means = {name: float(np.mean(having)) for name, having in values.items() if having}
    return TagFigures(tag, len(held), means, intervals(held, list(means), groups))


def _values(held: Sequence[QuestionResult], name: str) -> Sequence[float]:
    if name in _REFUSALS:
        return _refused(held, _REFUSALS[name])
    return [item.metrics[name] for item in held if name in item.metrics]


def _tables(
    results: Sequence[QuestionResult], names: Sequence[str]
) -> list[tuple[list[str], list[str], Floats]]:
    """Metrics that the same questions have, those questions, figures (metrics, questions)."""
    known = np.zeros((len(names), len(results)), np.bool_)
    figures = np.zeros(known.shape)
    for having, places in _places(results).items():
        rows = np.array([[*results[place].metrics.values()] for place in places], np.float64)
        columns = [having.index(name) for name in names if name in having]
        at = np.ix_([name in having for name in names], places)
        known[at], figures[at] = True, rows[:, columns].T
    groups: dict[bytes, list[int]] = {}
    for number, mask in enumerate(known):
        groups.setdefault(mask.tobytes(), []).append(number)
    return [
        (
            [names[number] for number in held],
            [results[place].question_id for place in np.flatnonzero(known[held[0]]).tolist()],
            figures[held][:, known[held[0]]],
        )
        for held in groups.values()
        if known[held[0]].any()
    ]


def _places(results: Sequence[QuestionResult]) -> dict[tuple[str, ...], list[int]]:
    """Positions of results by the names of their metrics."""
    found: dict[tuple[str, ...], list[int]] = {}
    for place, item in enumerate(results):
        found.setdefault(tuple(item.metrics), []).append(place)
    return found


@dataclass(frozen=True, slots=True)
class UnjudgedShare:
    """Hits among the first ``k`` that no label speaks of, over the labelled questions.

    ``hits`` came back, ``unjudged`` of them are open. ``precision`` and ``ndcg`` bound the mean of
    that metric at k, whatever they turn out to be up to the ``highest`` grade in use, and however
    many relevant passages were not retrieved. All by the labels of today; ``current`` tells that
    they are those the run was measured with.
    """

    k: int
    hits: int
    unjudged: int
    precision: Interval
    ndcg: Interval
    highest: int
    current: bool

    @property
    def share(self) -> float:
        """The share of the hits that nobody has judged; 0 without hits."""
        return self.unjudged / self.hits if self.hits else 0.0


def unjudged_share(
    questions: Sequence[Question],
    rankings: Mapping[str, Sequence[str]],
    spans: Spans,
    k: int,
    current: bool = True,
) -> UnjudgedShare | None:
    """From the ids that came back, best first, by question id; None without labelled questions.

    ``spans`` has the passages of all labelled documents, as the run cut them.
    """
    known = [(question.id, *graded(question, spans)) for question in questions]
    rows = [each for each in known if each[0] in rankings and any(each[1].values())]
    if not rows:
        return None
    highest = highest_grade(questions)
    precision, ndcg, unjudged = [], [], 0
    for name, grades, judged in rows:
        held = with_zeros(grades, judged)
        bounds = _bounds_alone(*_outcome(rankings[name][:k], held), k, highest)
        precision.append(bounds[0])
        ndcg.append(bounds[1])
        unjudged += sum(each not in judged for each in rankings[name][:k])
    return UnjudgedShare(
        k=k,
        hits=sum(len(rankings[name][:k]) for name, _, _ in rows),
        unjudged=unjudged,
        precision=Interval(*np.mean(precision, axis=0).tolist()),
        ndcg=Interval(*np.mean(ndcg, axis=0).tolist()),
        highest=highest,
        current=current,
    )


def _outcome(
    ids: Sequence[str], grades: Mapping[str, int]
) -> tuple[tuple[tuple[int, int | None], ...], tuple[int, ...]]:
    """Return the input of the bounds of a question.

    The first part is the first index and the grade of each hit, with None as the grade of an open
    hit. The second part is the sorted grades of the judged passages that were not retrieved.
    """
    hits = tuple((ids.index(each), grades.get(each)) for each in ids)
    return hits, tuple(sorted(grade for each, grade in grades.items() if each not in ids))


@lru_cache(4096)
def _bounds_alone(
    hits: Sequence[tuple[int, int | None]], others: Sequence[int], k: int, highest: int
) -> tuple[DifferenceBounds, DifferenceBounds]:
    """Bounds of precision and nDCG at k, once for all questions with such an outcome."""
    missed = {f"missed {number}": grade for number, grade in enumerate(others)}
    known = {str(place): grade for place, grade in hits if grade is not None}
    alone = OpenPair([str(place) for place, _ in hits], (), known | missed, k, highest)
    return difference_bounds("precision", alone), difference_bounds("ndcg", alone)


def highest_grade(questions: Sequence[Question]) -> int:
    """The highest grade in use; 1 where nothing is relevant."""
    return max([1, *(item.grade for each in questions for item in each.evidence)])


def graded(question: Question, spans: Spans) -> tuple[dict[str, int], set[str]]:
    """Grades by id, and the ids that labels speak of, of passages or documents."""
    if judged_by_document(question):
        grades = best_grades(question)
        return grades, set(grades)
    names = dict.fromkeys(item.document_id for item in question.evidence)
    rows = [(key, name, start, end) for name in names for key, start, end in spans.get(name, ())]
    found = relevant_chunks(question.evidence, rows)
    judged = {f"{key:016x}" for key in judged_passages(question, rows)}
    return {f"{key:016x}": grade for key, grade in found.items()}, judged


def with_zeros(grades: Mapping[str, int], judged: Collection[str]) -> dict[str, int]:
    """Grades by id, 0 for what was judged and is not relevant; what is open is absent."""
    return dict.fromkeys(judged, 0) | dict(grades)
