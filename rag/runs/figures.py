"""The uncertainty of stored runs: chance, unjudged hits, too few questions."""

from __future__ import annotations

from collections.abc import Sequence

from rag.evaluation.comparison import Groups
from rag.evaluation.inference.planning import Plan, plan
from rag.evaluation.intervals import Interval
from rag.evaluation.run_intervals import (
    TagFigures,
    UnjudgedShare,
    by_tag,
    intervals,
    unjudged_share,
)
from rag.operation import operation
from rag.runs.groups import groups_of_set, questions_of_set
from rag.runs.history import LEADING
from rag.runs.loaded import DEPTH, Loaded
from rag.runs.stored import StoredRuns
from rag.storage import builds, passages, runs
from rag.storage import questions as question_rows

_LATEST = 6
"""Runs of a set whose differences tell what the next one will differ by."""


class RunFigures(StoredRuns):
    """The figures of the runs of one knowledge base."""

    @operation("guest")
    def intervals(self, run_id: str) -> dict[str, Interval]:
        """The 95% interval of every mean of a run. Raises NotFound."""
        loaded, groups = self._loaded(run_id)
        return intervals(list(loaded.results.values()), list(loaded.run.metrics), groups)

    @operation("guest")
    def by_tag(self, run_id: str, names: Sequence[str]) -> list[TagFigures]:
        """The figures of a run by tag of its questions. Raises NotFound."""
        loaded, groups = self._loaded(run_id)
        return by_tag(list(loaded.results.values()), names, groups)

    def _loaded(self, run_id: str) -> tuple[Loaded, Groups]:
        with self._database.read() as connection:
            loaded = Loaded.read(connection, self._base_id, run_id, DEPTH)
            return loaded, groups_of_set(connection, self._base_id, loaded.run.question_set)

    @operation("guest")
    def unjudged(self, run_id: str, k: int = 10) -> UnjudgedShare | None:
        """Return the unjudged share of a run's first k hits; None if no question has a label now.

        Raises NotFound.
        """
        with self._database.read() as connection:
            loaded = Loaded.read(connection, self._base_id, run_id, k)
            run = loaded.run
            question_set, questions = questions_of_set(connection, self._base_id, run.question_set)
            ids = sorted({item.document_id for question in questions for item in question.evidence})
            cut_id = builds.cut_id(connection, self._base_id, run.cut)
            spans = passages.spans(connection, self._base_id, cut_id, ids)
        rankings = {
            name: [key for key, *_ in item.ranking] for name, item in loaded.results.items()
        }
        current = question_set.version == run.set_version
        of_system = run.system is not None
        return unjudged_share(questions, rankings, spans, k, current, of_system=of_system)

    @operation("guest")
    def plan(self, set_name: str, metric: str = LEADING) -> Plan:
        """Return the smallest difference that the labelled questions of a set can detect.

        Its deviation is estimated from the latest runs of the set.

        Raises NotFound.
        """
        with self._database.read() as connection:
            question_set = question_rows.get_question_set(connection, self._base_id, set_name)
            of_set = [
                run.id
                for run in runs.list_runs(connection, self._base_id)
                if run.question_set == set_name and metric in run.metrics
            ][:_LATEST]
            figures = runs.figures(connection, of_set)
            questions = question_rows.list_labelled_questions(connection, question_set.id)
        labelled = sum(
            question.answerable and any(label.grade > 0 for label in question.labels)
            for question in questions
        )
        measured = [
            {name: values[metric] for name, values in figures[run_id].items() if metric in values}
            for run_id in of_set
        ]
        return plan(labelled, measured, metric)
