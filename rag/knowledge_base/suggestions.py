"""Questions that suggestions leave out, as the newest runs fail them; guests see no runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag.operation import operation
from rag.runs.history import RunHistory
from rag.runs.quality.failing import failing

_SCORED = "correct_decision"  # the metric of a run that scored answers


class Suggestions:
    """The basis of the suggested questions of one knowledge base."""

    def __init__(self, runs: RunHistory) -> None:
        self._runs = runs

    @operation("guest")
    def newest_runs(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the newest run of each question set, and of the newest with scored answers."""
        newest, scored = dict[str, str](), dict[str, str]()
        for run in reversed(self._runs.list_all()):
            newest[run.question_set] = run.id
            if _SCORED in run.metrics:
                scored[run.question_set] = run.id
        return {
            name: tuple(dict.fromkeys(filter(None, (run_id, scored.get(name, "")))))
            for name, run_id in newest.items()
        }

    @operation("guest")
    def failing_questions(self, run_ids: Sequence[str]) -> frozenset[str]:
        """The ids of the questions that some runs fail. Raises NotFound."""
        runs = map(self._runs.get, run_ids)
        return frozenset().union(
            *(failing(run, self._runs.results(run.id, depth=0)) for run in runs)
        )
