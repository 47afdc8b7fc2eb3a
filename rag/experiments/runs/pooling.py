"""Two kept runs by labels with gaps: what the open hits could make of their difference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rag.errors import NotFound
from rag.evaluation.comparison import Comparison, Groups
from rag.evaluation.judging import Spans
from rag.evaluation.metrics import MEASURES
from rag.evaluation.pooling import open_hits
from rag.evaluation.pooling.difference import (
    JudgedRankings,
    PooledDifference,
    pooled_difference,
)
from rag.evaluation.run_intervals import graded, highest_grade, with_zeros
from rag.experiments.runs.groups import questions_of_set
from rag.experiments.runs.loaded import Loaded
from rag.experiments.runs.stored import StoredRuns
from rag.operation import operation
from rag.results import Run
from rag.storage import Connection, builds, passages
from rag.types import Question


class Pooling(StoredRuns):
    """The runs of one knowledge base and the labels of today."""

    @operation("guest")
    def pooled_difference(
        self, run_id: str, other_id: str, metric: str, only: Collection[str] | None = None
    ) -> PooledDifference | None:
        """A run minus another one of the same question set, on ``only`` these questions.

        None where no question of both has a relevant label, and for metrics that do not rank
        passages. Raises NotFound.
        """
        if metric.partition("@")[0] not in MEASURES:
            return None
        with self._database.read() as connection:
            run, other = (Loaded.read(connection, self._base_id, key) for key in (run_id, other_id))
            all_questions, questions = _questions(connection, self._base_id, run.run)
            questions = [item for item in questions if only is None or item.id in only]
            rankings = _judged(connection, self._base_id, run, other, questions)
        if not rankings:
            return None
        return pooled_difference(
            metric,
            rankings,
            same_cut=_same_cut(run.run, other.run),
            highest=highest_grade(all_questions),
            unlabelled=len(questions) - len(rankings),
        )


def with_open_hits(
    connection: Connection,
    base_id: int,
    run: Loaded,
    other: Loaded,
    comparisons: Mapping[str, Comparison],
    groups: Groups,
) -> dict[str, Comparison]:
    """Comparisons of two runs by metric with what judging their open hits could make of them.

    As they are where the questions are gone.
    """
    if not comparisons:
        return {}
    try:
        _, questions = _questions(connection, base_id, run.run)
    except NotFound:
        return dict(comparisons)
    judged = _judged(connection, base_id, run, other, questions)
    same_cut = _same_cut(run.run, other.run)
    return open_hits.with_open_hits(comparisons, judged, groups, same_cut=same_cut)


def _questions(
    connection: Connection, base_id: int, run: Run
) -> tuple[Sequence[Question], Sequence[Question]]:
    """The questions of a run's set as they are today, and those that have an answer."""
    _, all_questions = questions_of_set(connection, base_id, run.question_set)
    return all_questions, [item for item in all_questions if item.answerable]


def _same_cut(run: Run, other: Run) -> bool:
    return run.cut == other.cut


def _spans(connection: Connection, base_id: int, run: Run, questions: Sequence[Question]) -> Spans:
    ids = sorted({item.document_id for question in questions for item in question.evidence})
    cut_id = builds.cut_id(connection, base_id, run.cut)
    return passages.spans(connection, base_id, cut_id, ids)


def _judged(
    connection: Connection,
    base_id: int,
    run: Loaded,
    other: Loaded,
    questions: Sequence[Question],
) -> dict[str, JudgedRankings]:
    """The questions of both runs that have a relevant label, by id."""
    mine = _spans(connection, base_id, run.run, questions)
    same_cut = _same_cut(run.run, other.run)
    theirs = mine if same_cut else _spans(connection, base_id, other.run, questions)
    judged = {}
    for question in questions:
        name = question.id
        if name not in run.results or name not in other.results:
            continue
        grades = others = with_zeros(*graded(question, mine, _returned(run, name)))
        if not same_cut:
            others = with_zeros(*graded(question, theirs, _returned(other, name)))
        if any(grade > 0 for grade in grades.values()):
            judged[name] = JudgedRankings(_ids(run, name), _ids(other, name), grades, others)
    return judged


def _returned(run: Loaded, question_id: str) -> list[str] | None:
    """All that is known of the passages of a system; None for a recipe."""
    return _ids(run, question_id) if run.run.system else None


def _ids(run: Loaded, question_id: str) -> list[str]:
    return [key for key, *_ in run.results[question_id].ranking]
