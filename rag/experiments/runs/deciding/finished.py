"""Finished decisions against a baseline, for reports and gates."""

from __future__ import annotations

from rag.experiments.runs.deciding.decisions import Decisions
from rag.experiments.runs.deciding.state import RunDecision
from rag.storage import Database, runs


def finished_decisions(
    database: Database, base_id: int, run_id: str, baseline_id: str
) -> tuple[RunDecision, ...]:
    """Return the finished decisions of a run against a baseline, by the labels of today.

    Those of another run count if it returned the same: a gate measures anew each time.
    """
    decisions = Decisions(database, base_id)
    verdicts = []
    for entry in decisions.decisions(baseline_id):
        _, _, cutoff = entry.metric.partition("@")
        if not entry.finished or run_id == baseline_id:
            continue
        if entry.other == run_id or _same_results(database, run_id, entry.other, int(cutoff)):
            verdicts.append(decisions.decision(entry.other, baseline_id, entry.metric, most=0))
    return tuple(verdicts)


def _same_results(database: Database, run_id: str, decided_id: str, k: int) -> bool:
    """Whether a run returned the first k of each question as the one that was decided."""
    with database.read() as connection:
        new, decided = (
            {
                (result.question_id, result.text): [item for item, *_ in result.ranking[:k]]
                for result in runs.results(connection, one, k)
            }
            for one in (run_id, decided_id)
        )
    return all(new.get(question) == ranking for question, ranking in decided.items())
