"""Confidence intervals of a run's metrics, from its stored results by question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rag.evaluation.comparison import Groups, clusters_of
from rag.evaluation.intervals import Interval, mean_intervals
from rag.evaluation.judging import Spans
from rag.evaluation.pooling.bounds import OpenPair, difference_bounds
from rag.evaluation.relevance import (
    best_grades,
    judged_by_document,
    judged_passages,
    relevant_chunks,
    uncovered_labels,
)
from rag.types import Floats, Question, percent
from rag.types.results import FOREIGN, QuestionResult

_REFUSALS = {"correct_refusal": False, "false_refusal": True}


def intervals(
    results: Sequence[QuestionResult], names: Sequence[str], groups: Groups | None = None
) -> dict[str, Interval]:
    """The 95% interval of each mean in ``names``, over the questions that have the figure."""
    known_groups = groups or {}
    by_name = {
        name: _refusals(results, _REFUSALS[name], known_groups)
        for name in names
        if name in _REFUSALS
    }
    of_metrics = _tables(results, [name for name in names if name not in _REFUSALS])
    for metrics, question_ids, rows in of_metrics:
        ends = mean_intervals(rows, clusters_of(question_ids, known_groups)).tolist()
        by_name |= {name: Interval(*ends) for name, ends in zip(metrics, ends, strict=True)}
    return {name: by_name[name] for name in names if name in by_name}


def _refusals(results: Sequence[QuestionResult], answerable: bool, groups: Groups) -> Interval:
    refused = np.array([_refused(results, answerable)], np.float64)
    question_ids = [item.question_id for item in results if item.answerable == answerable]
    return Interval(*mean_intervals(refused, clusters_of(question_ids, groups))[0].tolist())


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
    return [_of_tag(tag, tagged, names, groups) for tag, tagged in rows]


def _of_tag(
    tag: str, results: Sequence[QuestionResult], names: Sequence[str], groups: Groups | None
) -> TagFigures:
    values = {name: _values(results, name) for name in names}
    means = {name: float(np.mean(having)) for name, having in values.items() if having}
    return TagFigures(tag, len(results), means, intervals(results, list(means), groups))


def _values(results: Sequence[QuestionResult], name: str) -> Sequence[float]:
    if name in _REFUSALS:
        return _refused(results, _REFUSALS[name])
    return [item.metrics[name] for item in results if name in item.metrics]


def _tables(
    results: Sequence[QuestionResult], names: Sequence[str]
) -> list[tuple[list[str], list[str], Floats]]:
    """Metrics that the same questions have, those questions, figures (metrics, questions)."""
    measured = np.zeros((len(names), len(results)), np.bool_)
    figures = np.zeros(measured.shape)
    for having, places in _places(results).items():
        rows = np.array([[*results[place].metrics.values()] for place in places], np.float64)
        columns = [having.index(name) for name in names if name in having]
        at = np.ix_([name in having for name in names], places)
        measured[at], figures[at] = True, rows[:, columns].T
    groups: dict[bytes, list[int]] = {}
    for number, mask in enumerate(measured):
        groups.setdefault(mask.tobytes(), []).append(number)
    return [
        (
            [names[number] for number in metric_numbers],
            [
                results[place].question_id
                for place in np.flatnonzero(measured[metric_numbers[0]]).tolist()
            ],
            figures[metric_numbers][:, measured[metric_numbers[0]]],
        )
        for metric_numbers in groups.values()
        if measured[metric_numbers[0]].any()
    ]


def _places(results: Sequence[QuestionResult]) -> dict[tuple[str, ...], list[int]]:
    """Positions of results by the names of their metrics."""
    places: dict[tuple[str, ...], list[int]] = {}
    for place, item in enumerate(results):
        places.setdefault(tuple(item.metrics), []).append(place)
    return places


@dataclass(frozen=True, slots=True)
class UnjudgedShare:
    """Hits among the first ``k`` that no label covers, over the labelled questions.

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

    def sentence(self, unit: str) -> str:
        """The values that the open hits could make of the figures; ``unit`` is what is ranked."""
        ndcg, precision = (f"{low:.3f} and {high:.3f}" for low, high in (self.ndcg, self.precision))
        return (
            f"Of {self.hits:,} {unit}s among the first {self.k}, {self.unjudged:,} "
            f"({percent(self.share)}) are not judged and count as not relevant. Their grades (up "
            f"to {self.highest}) and relevant {unit}s that were not retrieved can move "
            f"nDCG@{self.k} to any value between {ndcg}, and "
            f"precision@{self.k} between {precision}, on these questions."
        )


def unjudged_share(
    questions: Sequence[Question],
    rankings: Mapping[str, Sequence[str]],
    spans: Spans,
    k: int,
    current: bool = True,
    *,
    of_system: bool = False,
) -> UnjudgedShare | None:
    """From the ids that came back, best first, by question id; None without labelled questions.

    ``spans`` has the passages of all labelled documents, as the run cut them. The passages
    ``of_system`` are only those that it returned.
    """
    returned = rankings if of_system else {}
    graded_questions = [
        (question.id, *graded(question, spans, returned.get(question.id))) for question in questions
    ]
    rows = [row for row in graded_questions if row[0] in rankings and any(row[1].values())]
    if not rows:
        return None
    highest = highest_grade(questions)
    precision, ndcg, unjudged = [], [], 0
    for name, grades, judged in rows:
        all_grades = with_zeros(grades, judged)
        bounds = _bounds_alone(*_outcome(rankings[name][:k], all_grades), k, highest)
        precision.append(bounds[0])
        ndcg.append(bounds[1])
        unjudged += sum(key not in judged for key in rankings[name][:k])
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
    hits = tuple((ids.index(key), grades.get(key)) for key in ids)
    return hits, tuple(sorted(grade for key, grade in grades.items() if key not in ids))


@lru_cache(4096)
def _bounds_alone(
    hits: Sequence[tuple[int, int | None]], others: Sequence[int], k: int, highest: int
) -> tuple[Interval, Interval]:
    """Bounds of precision and nDCG at k, once for all questions with such an outcome."""
    missed = {f"missed {number}": grade for number, grade in enumerate(others)}
    judged = {str(place): grade for place, grade in hits if grade is not None}
    alone = OpenPair([str(place) for place, _ in hits], (), judged | missed, k, highest)
    return difference_bounds("precision", alone), difference_bounds("ndcg", alone)


def highest_grade(questions: Sequence[Question]) -> int:
    """The highest grade in use; 1 where nothing is relevant."""
    return max([1, *(item.grade for question in questions for item in question.evidence)])


def graded(
    question: Question, spans: Spans, returned: Collection[str] | None = None
) -> tuple[dict[str, int], set[str]]:
    """Grades by id, and the ids that labels cover, of passages or documents.

    ``returned`` has the ids that a system returned, whose other passages are unknown: a label that
    none of them covers counts as a passage of its own, and texts of no document are not relevant.
    """
    foreign = {name for name in returned or () if name.startswith(FOREIGN)}
    if judged_by_document(question):
        grades = best_grades(question)
        return grades, grades.keys() | foreign
    names = dict.fromkeys(item.document_id for item in question.evidence)
    rows = [(key, name, start, end) for name in names for key, start, end in spans.get(name, ())]
    if returned is None:
        grades_by_key = relevant_chunks(question.evidence, rows)
        judged = {f"{key:016x}" for key in judged_passages(question, rows)}
        return {f"{key:016x}": grade for key, grade in grades_by_key.items()}, judged
    rows = [row for row in rows if f"{row[0]:016x}" in returned]
    grades_by_key = relevant_chunks(question.evidence, rows, all_passages=False)
    judged_keys = judged_passages(question, rows, all_passages=False)
    uncovered = {
        f"label {number}": grade
        for number, grade in enumerate(uncovered_labels(question.evidence, rows))
    }
    judged = {f"{key:016x}" for key in judged_keys} | foreign | uncovered.keys()
    return {f"{key:016x}": grade for key, grade in grades_by_key.items()} | uncovered, judged


def with_zeros(grades: Mapping[str, int], judged: Collection[str]) -> dict[str, int]:
    """Grades by id, 0 for what was judged and is not relevant; what is open is absent."""
    return dict.fromkeys(judged, 0) | dict(grades)
