"""How sweeps and gates are told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rag import BuildFigures, GateResult, Mismatch, QuestionDifference, Sweep
from rag.cli import builds
from rag.cli.printing import Output

_BEST = 20


def sweep(
    found: Sweep,
    mismatches: Sequence[Mismatch],
    verified: int | None,
    by: str,
    rows: Sequence[BuildFigures] = (),
) -> Output:
    """``rows`` has the recipes again by ordinary evaluation, where they differ in their index."""
    data = {
        "set": found.set_name,
        "recipes": len(found.grid),
        "questions": found.questions,
        "seconds": found.seconds,
        "recipes_per_second": found.recipes_per_second,
        "fetch_seconds": found.fetch_seconds,
        "processor_seconds": found.processor_seconds,
        "verified": verified,
        "mismatches": [
            {
                "recipe": each.recipe.hash,
                "metric": each.name,
                "swept": each.swept,
                "evaluated": each.evaluated,
            }
            for each in mismatches
        ],
        "base": {"recipe": found.grid.base.hash, "metrics": dict(found.base)},
        "skipped": [*found.grid.skipped, *found.grid.repeated],
        "results": builds.results(rows) if rows else _results(found),
    }
    lines = _sweep_lines(found, mismatches, verified, by)
    if rows:
        lines += ["", *builds.lines(rows, found.cutoffs)]
    return Output(data, "\n".join([*lines, *builds.skipped(found.grid)]), not mismatches)


def _results(found: Sweep) -> list[dict[str, Any]]:
    return [
        {
            "recipe": found.grid.recipe(number).hash,
            "set": found.grid.changes(number),
            "metrics": found.metrics(number),
        }
        for number in range(len(found.grid))
    ]


def _sweep_lines(
    found: Sweep, mismatches: Sequence[Mismatch], verified: int | None, by: str
) -> list[str]:
    count = len(found.grid)
    lines = [
        f"{count:,} recipes on {found.questions:,} questions of {found.set_name!r}: candidates in "
        f"{found.fetch_seconds:.1f} s, then {found.seconds:.2f} s "
        f"({found.recipes_per_second:,.0f} recipes a second)",
        f"{by:>10}  recipe",
    ]
    lines += [
        f"{found.metrics(number)[by]:10.4f}  {_changed(found.grid.changes(number))}"
        for number in found.best(by, _BEST)
    ]
    place = found.place(by)
    standing = f"place {place:,} of {count:,}" if place <= count else "behind all of them"
    lines.append(f"{found.base[by]:10.4f}  the recipe as it is, {standing}")
    if verified is not None:
        lines.append(
            f"{verified} recipes verified by ordinary evaluations: "
            + (f"{len(mismatches)} figures differ" if mismatches else "all figures identical")
        )
    lines += [
        f"  recipe {each.recipe.hash} {each.name}: swept {each.swept!r}, "
        f"evaluated {each.evaluated!r}"
        for each in mismatches[:_BEST]
    ]
    return lines


def _changed(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in fields.items()) or "as it is"


def gate(found: GateResult) -> Output:
    run = found.evaluation.run
    data = {
        "passed": found.passed,
        "run": run.id,
        "recipe": run.recipe.hash,
        "set": run.question_set,
        "questions": run.questions,
        "metrics": dict(run.metrics),
        "failures": [
            {
                "metric": each.metric,
                "value": each.value,
                "required": each.required,
                "of": "baseline" if each.baseline else "min",
            }
            for each in found.failures
        ],
        "regressions": {
            metric: [_regression(row) for row in rows] for metric, rows in found.regressions.items()
        },
    }
    lines = [f"run {run.id}, recipe {run.recipe.hash}, {run.questions} questions"]
    lines += [
        f"FAILED {each.metric} {each.value:.4f}, "
        + (
            f"the baseline has {each.required:.4f}"
            if each.baseline
            else f"at least {each.required}"
        )
        for each in found.failures
    ]
    for metric, rows in found.regressions.items():
        lines.append(f"{len(rows)} questions with a lower {metric} than the baseline")
        lines += [f"  {row.before:.4f} -> {row.after:.4f}  {row.text}" for row in rows]
    lines.append("passed" if found.passed else "not passed")
    return Output(data, "\n".join(lines), found.passed)


def _regression(row: QuestionDifference) -> dict[str, Any]:
    return {
        "id": row.question_id,
        "question": row.text,
        "before": row.before,
        "after": row.after,
        "first_before": row.first_before,
        "first_after": row.first_after,
    }
