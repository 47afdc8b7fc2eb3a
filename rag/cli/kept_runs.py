"""Kept runs as JSON for scripts and as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rag import LeaderboardRow, Run
from rag.cli.printing import Output


def listed(found: Sequence[Run], boards: Mapping[str, LeaderboardRow]) -> Output:
    """``boards`` has each run as its question set's leaderboard has it, by id."""
    rows = [
        {
            "run": run.id,
            "name": boards[run.id].name,
            "set": run.question_set,
            "recipe": run.recipe.hash,
            "place": boards[run.id].place,
            "differs": list(boards[run.id].differs),
            "questions": run.questions,
            "metrics": dict(run.metrics),
            "created": run.created.isoformat(),
            "seconds": run.seconds,
        }
        for run in found
    ]
    lines = [
        f"{run.id}  {run.created:%Y-%m-%d %H:%M}  {run.question_set:20} recipe {run.recipe.hash}"
        f"  {_leading(run)}  {boards[run.id].name}"
        + (f"  (other {' and '.join(boards[run.id].differs)})" if boards[run.id].differs else "")
        for run in found
    ]
    return Output({"runs": rows}, "\n".join(lines) or "No run yet: `python -m rag evaluate`.")


def _leading(run: Run) -> str:
    """The figure that stands for a run in a list; of refusals alone their share."""
    for name, title in (("ndcg@10", "nDCG@10"), ("correct_refusal", "refused")):
        if name in run.metrics:
            return f"{title} {run.metrics[name]:.4f}"
    return "nDCG@10 –"
