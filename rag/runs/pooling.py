"""Two kept runs by labels with gaps: what the open hits could make of their difference."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from rag.evaluation.judging import Spans
from rag.evaluation.pooling.difference import (
    JudgedRankings,
    PooledDifference,
    pooled_difference,
)
from rag.evaluation.run_intervals import graded, highest_grade
from rag.results import QuestionResult, Run
from rag.storage import Connection, Database, builds, passages, runs
from rag.storage import questions as rows
from rag.types import Question


class Pooling:
    """Reads the runs of one knowledge base and the labels of today."""

    def __init__(self, database: Database, base_id: int) -> None:
        self._database = database
        self._base_id = base_id

    def difference(
        self, run_id: str, other_id: str, metric: str, only: Collection[str] | None = None
    ) -> PooledDifference | None:
        """A run minus another one of the same question set, on ``only`` these questions.

        None where no question of both has a relevant label. Raises NotFound.
        """
        with self._database.read() as connection:
            run, other = (runs.get(connection, self._base_id, each) for each in (run_id, other_id))
            found = rows.named(connection, self._base_id, run.question_set)
            every = rows.usable(connection, self._base_id, found.id)
            asked = [
                item for item in every if item.answerable and (only is None or item.id in only)
            ]
            first, second = (runs.results(connection, each.id) for each in (run, other))
            mine, theirs = (self._spans(connection, each, asked) for each in (run, other))
        rankings = dict(_judged(asked, _ranked(first), _ranked(second), mine, theirs))
        if not rankings:
            return None
        return pooled_difference(
            metric,
            rankings,
            same_cut=run.recipe.index.cut == other.recipe.index.cut,
            highest=highest_grade(every),
            unlabelled=len(asked) - len(rankings),
        )

    def _spans(self, connection: Connection, run: Run, asked: Sequence[Question]) -> Spans:
        ids = sorted({item.document_id for each in asked for item in each.evidence})
        cut_id = builds.cut_id(connection, self._base_id, run.recipe.index.cut)
        return passages.spans(connection, self._base_id, cut_id, ids)


def _ranked(results: Sequence[QuestionResult]) -> dict[str, list[str]]:
    return {item.question_id: [key for key, *_ in item.ranking] for item in results}


def _judged(
    asked: Sequence[Question],
    first: Mapping[str, Sequence[str]],
    second: Mapping[str, Sequence[str]],
    mine: Spans,
    theirs: Spans,
) -> list[tuple[str, JudgedRankings]]:
    """The questions of both runs that have a relevant label."""
    found = []
    for question in asked:
        name = question.id
        if name not in first or name not in second:
            continue
        grades, others = (_with_zeros(*graded(question, spans)) for spans in (mine, theirs))
        if any(grade > 0 for grade in grades.values()):
            found.append((name, JudgedRankings(first[name], second[name], grades, others)))
    return found


def _with_zeros(grades: Mapping[str, int], judged: Collection[str]) -> dict[str, int]:
    return dict.fromkeys(judged, 0) | dict(grades)
