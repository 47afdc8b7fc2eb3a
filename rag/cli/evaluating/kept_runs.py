"""Kept runs, and what a gate says of one, as JSON for scripts and as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag import (
    GateResult,
    LeaderboardRow,
    MeasuredData,
    PairedGate,
    QuestionDifference,
    Run,
    counted,
)
from rag.cli import printing
from rag.cli.printing import Output


def listed(runs: Sequence[Run], boards: Mapping[str, LeaderboardRow]) -> Output:
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
            "prompts": run.prompts,
        }
        for run in runs
    ]
    lines = [
        f"{run.id}  {run.created:%Y-%m-%d %H:%M}  {run.question_set:20} recipe {run.recipe.hash}"
        f"  {_leading(run)}  {boards[run.id].name}"
        + (f"  (other {' and '.join(boards[run.id].differs)})" if boards[run.id].differs else "")
        + (f"  prompts {run.prompts}" if run.prompts else "")
        for run in runs
    ]
    return Output({"runs": rows}, "\n".join(lines) or "No run yet: `python -m rag evaluate`.")


def _leading(run: Run) -> str:
    """The figure that stands for a run in a list; of refusals alone their share."""
    for name, title in (("ndcg@10", "nDCG@10"), ("correct_refusal", "refused")):
        if name in run.metrics:
            return f"{title} {run.metrics[name]:.4f}"
    return "nDCG@10 –"


def gate(result: GateResult) -> Output:
    run = result.evaluation.run
    data = {
        "passed": result.passed,
        **MeasuredData.of(run).dump(),
        "failures": [
            {
                "metric": failure.metric,
                "value": failure.value,
                "required": failure.required,
                "of": "baseline" if failure.baseline else "min",
            }
            for failure in result.failures
        ],
        "regressions": {
            metric: [_regression(row) for row in rows]
            for metric, rows in result.regressions.items()
        },
        "comparable": result.differences.comparable if result.differences else None,
        "differences": result.differences.phrase if result.differences else None,
        "outcome": result.outcome,
        "paired": {metric: _paired(paired_gate) for metric, paired_gate in result.paired.items()},
    }
    lines = [printing.headline(run)]
    if result.differences:
        lines.append(f"against the baseline: {result.differences.phrase}")
    for paired_gate in result.paired.values():
        sentence = paired_gate.sentence
        if paired_gate.outcome == "incomparable":
            sentence = f"{sentence} Evaluate the baseline again."
        lines.append(sentence)
    lines += [
        f"FAILED {failure.metric} {failure.value:.4f}, "
        + (
            f"the baseline has {failure.required:.4f}"
            if failure.baseline
            else f"at least {failure.required}"
        )
        for failure in result.failures
    ]
    for metric, rows in result.regressions.items():
        lines.append(f"{counted(len(rows), 'question')} with a lower {metric} than the baseline")
        lost_rows = rows[:_LOST]
        lines += [f"  {row.before:.4f} -> {row.after:.4f}  {row.text}" for row in lost_rows]
        lines += [f"  {len(rows) - _LOST:,} more"] if len(rows) > _LOST else []
    lines.append(_ENDINGS[result.outcome])
    return Output(data, "\n".join(lines), result.passed, _FAILING.get(result.outcome, 1))


_LOST = 10  # questions that are printed; JSON has all
_ENDINGS = {
    "passed": "passed",
    "failed": "not passed",
    "undecided": "not passed: these questions are too few to tell",
    "unjudged": "not passed, not failed: judge the open hits first",
    "incomparable": "not passed: there is nothing to compare",
}
_FAILING = {"failed": 1, "undecided": 3, "incomparable": 4, "unjudged": 5}


def _paired(paired_gate: PairedGate) -> dict[str, Any]:
    figures = paired_gate.comparison
    return {
        "outcome": paired_gate.outcome,
        "difference": figures.difference,
        "interval": list(paired_gate.interval),
        "confidence": paired_gate.confidence,
        "p": figures.p,
        "questions": len(figures.differences),
        "left_out": figures.left_out,
        "tolerance": paired_gate.tolerance,
        "unjudged": list(figures.open_hits.shares) if figures.open_hits else None,
    }


def _regression(row: QuestionDifference) -> dict[str, Any]:
    return {
        "id": row.question_id,
        "question": row.text,
        "before": row.before,
        "after": row.after,
        "first_before": row.first_before,
        "first_after": row.first_after,
    }
