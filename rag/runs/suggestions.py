"""Questions that suggestions leave out, as the newest runs fail them; guests see no runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag.operation import operation
from rag.runs.loaded import Loaded
from rag.runs.quality.failing import failing
from rag.runs.stored import StoredRuns
from rag.storage import runs

_SCORED = "correct_decision"  # the metric of a run that scored answers


class Suggestions(StoredRuns):
    """The basis of the suggested questions of one knowledge base."""

    @operation("guest")
    def newest_runs(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the newest run of each question set, and of the newest with scored answers."""
        newest, scored = dict[str, str](), dict[str, str]()
        with self._database.read() as connection:
            all_runs = runs.list_runs(connection, self._base_id)
        for run in reversed(all_runs):
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
        with self._database.read() as connection:
            loaded = [Loaded.read(connection, self._base_id, run_id, 0) for run_id in run_ids]
        return frozenset().union(*(failing(one.run, list(one.results.values())) for one in loaded))
