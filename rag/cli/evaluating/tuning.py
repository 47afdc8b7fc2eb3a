"""Output of the verbs that measure many recipes, or check one against requirements."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rag import (
    Best,
    BuildFigures,
    FittedCalibration,
    Grid,
    Mismatch,
    PromiseCurves,
    RefusalLimit,
    SplitSelection,
    Sweep,
    ThresholdCurve,
    ThresholdPoint,
    ThresholdPromise,
    counted,
)
from rag.cli.printing import Output

REFUSAL_COST = 0.05
"""The share of the answerable questions that a limit of refusal may cost."""
_BEST = 20
_MEASURES = ("recall", "precision", "iou")
_SPANS = [f"{unit}_{measure}" for unit in ("span", "token") for measure in _MEASURES]


def sweep(
    found: Sweep,
    best: Best | None,
    mismatches: Sequence[Mismatch],
    verified: int | None,
    by: str,
    rows: Sequence[BuildFigures] = (),
) -> Output:
    """``best`` is what the best of them is worth, where that can be judged.

    ``rows`` has the recipes again by ordinary evaluation, where they differ in their index.
    """
    data = {
        "set": found.set_name,
        "recipes": len(found.grid),
        "distinct": found.distinct,
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
        "best": None if best is None else _best(best),
        "skipped": [*found.grid.skipped, *found.grid.repeated],
        "results": _build_results(rows) if rows else _results(found),
    }
    lines = _sweep_lines(found, mismatches, verified, by)
    if best is not None:
        lines += _best_lines(best)
    if rows:
        lines += ["", *_build_lines(rows, found.cutoffs)]
    return Output(data, "\n".join([*lines, *_skipped(found.grid)]), not mismatches)


def _best(best: Best) -> dict[str, Any]:
    """Return the best recipe as plain data.

    ``attempt`` is its number in the ledger of the question set.
    """
    found, compared = best.selection, best.selection.comparison
    data = {
        "recipe": best.recipe.hash,
        "by": "held-out questions" if isinstance(found, SplitSelection) else "cross-validation",
        "metric": compared.metric,
        "tried": found.tried,
        "verdict": compared.verdict,
        "gain": compared.difference,
        "interval": list(compared.interval),
        "p": compared.p,
        "level": compared.alpha,
        "attempt": best.attempt.number,
        "split": best.attempt.split,
    }
    if isinstance(found, SplitSelection):
        return {**data, "lead": found.tuning_lead}
    return {**data, "lead": found.lead, "agreement": found.agreement}


def _best_lines(best: Best) -> list[str]:
    lines = [best.selection.sentence]
    if best.recipe != best.baseline:
        lines.append(best.selection.comparison.sentence)
    return [*lines, *([best.attempt.sentence] if best.attempt.sentence else [])]


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
        f"{counted(count, 'combination')} on {counted(found.questions, 'question')} of "
        f"{found.set_name!r}: candidates in "
        f"{found.fetch_seconds:.1f} s, then {found.seconds:.2f} s "
        f"({found.recipes_per_second:,.0f} a second); "
        f"{counted(found.distinct, 'different recipe')}",
        f"{by:>10}  recipe",
    ]
    lines += [
        f"{found.metrics(number)[by]:10.4f}  "
        + (_assignments(found.grid.changes(number)) or "as it is")
        for number in found.best(by, _BEST)
    ]
    place = found.place(by)
    standing = f"place {place:,} of {count:,}" if place <= count else "behind all of them"
    lines.append(f"{found.base[by]:10.4f}  the recipe as it is, {standing}")
    if verified is not None:
        lines.append(
            f"{counted(verified, 'recipe')} verified by ordinary evaluations: "
            + (
                f"{counted(len(mismatches), 'figure')} not the same"
                if mismatches
                else "all figures identical"
            )
        )
    lines += [
        f"  recipe {each.recipe.hash} {each.name}: swept {each.swept!r}, "
        f"evaluated {each.evaluated!r}"
        for each in mismatches[:_BEST]
    ]
    return lines


def _assignments(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in fields.items())


def _build_results(rows: Sequence[BuildFigures]) -> list[dict[str, Any]]:
    return [
        {
            "recipe": row.recipe.hash,
            "set": dict(row.changes),
            "passages": row.passages,
            "mean_tokens": row.mean_tokens,
            "metrics": dict(row.metrics),
        }
        for row in rows
    ]


def _build_lines(rows: Sequence[BuildFigures], cutoffs: Sequence[int]) -> list[str]:
    """A line a recipe: the fields that differ, the passages, and how well they do."""
    k = 5 if 5 in cutoffs else cutoffs[0]
    deep = 10 if 10 in cutoffs else cutoffs[-1]
    names = [name for name in (f"{each}@{k}" for each in _SPANS) if name in rows[0].metrics]
    names.append(f"ndcg@{deep}")
    fields = [
        name
        for name in rows[0].changes
        if len(rows) == 1 or len({json.dumps(row.changes[name]) for row in rows}) > 1
    ]
    head = [*(name.partition(".")[2] for name in fields), "passages", "tokens", *names]
    table = [head, *(_cells(row, fields, names) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.rjust, cells, widths)) for cells in table]


def _cells(row: BuildFigures, fields: Sequence[str], names: Sequence[str]) -> list[str]:
    values = [row.changes[name] for name in fields]
    shown = [value if isinstance(value, str) else json.dumps(value) for value in values]
    shares = [f"{row.metrics[name]:.1%}" for name in names[:-1]]
    ndcg = f"{row.metrics[names[-1]]:.4f}"
    return [*shown, f"{row.passages:,}", f"{row.mean_tokens:.1f}", *shares, ndcg]


def _skipped(grid: Grid) -> list[str]:
    """Return the recipes that the grid skipped, with the reasons."""
    reasons = {
        "skipped, the overlap must be less than the size: ": grid.skipped,
        "skipped, builds what a row above builds: ": grid.repeated,
    }
    return [
        reason + _assignments(changes)
        for reason, left_out in reasons.items()
        for changes in left_out
    ]


def calibration(
    found: FittedCalibration, promise: ThresholdPromise, refusal: RefusalLimit | None
) -> Output:
    """Return the output of a calibration, with the threshold that promises a precision.

    ``refusal`` is the limit chosen by the labels, None if there are too few or nothing to choose.
    """
    quality = found.quality
    data: dict[str, Any] = {
        "set": found.question_set,
        "set_version": found.set_version,
        "questions": found.questions,
        "weights": dict(found.model.weights),
        "intercept": found.model.intercept,
        "quality": {**asdict(quality), "useful": quality.useful},
        "reliability": [asdict(each) for each in found.bins],
        "auto": found.threshold,
        **_promised(promise),
        "refuse": asdict(refusal) if refusal else None,
    }
    lines = [
        f"fitted on {found.questions:,} tuning questions of {found.question_set!r}: Brier score "
        f"{quality.brier:.4f}, of the base rate {quality.base_brier:.4f}",
        *_promise_lines(promise),
    ]
    if promise.point:
        lines.append(
            "use it with --set search.relevance=probability "
            f"--set search.threshold={_rounded_down(promise.point)}",
        )
    if not quality.useful:
        lines.append("it predicts no better than the base rate: keep the threshold on the cosine")
    if refusal:
        lines.append(f"search.refuse={refusal.limit:.4f} {refusal.sentence}")
    return Output(data, "\n".join(lines))


def threshold(
    limit: float | None, curve: ThresholdCurve, curves: PromiseCurves, wanted: float
) -> Output:
    """Return the output for a threshold, and the threshold that promises the wanted precision.

    ``limit`` None means that the threshold is off.
    """
    now, promise = None if limit is None else curve.at(limit), curves.promise(wanted)
    data = {"now": now.figures() if now else None, **_promised(promise)}
    told = "off" if now is None else f"{now.threshold:.3f}: {now.sentence}"
    lines = [f"threshold now {told}", *_promise_lines(promise)]
    if promise.point:
        lines.append(f"use it with --set search.threshold={_rounded_down(promise.point)}")
    return Output(data, "\n".join(lines))


def _promised(promise: ThresholdPromise) -> dict[str, Any]:
    point, checked = promise.point, promise.checked
    return {
        "precision": promise.wanted,
        "confidence": promise.confidence,
        "threshold": point.threshold if point else None,
        "promised": promise.bound,
        "possible": promise.possible,
        "needed_questions": promise.needed,
        "tuning": point.figures() if point else None,
        "held_out": checked.figures() if checked else None,
    }


def _promise_lines(promise: ThresholdPromise) -> list[str]:
    return [promise.sentence, *([promise.check] if promise.check else [])]


def _rounded_down(point: ThresholdPoint) -> str:
    """Return a threshold rounded down, so that no passage that reached it is lost."""
    return f"{math.floor(point.threshold * 10_000) / 10_000:.4f}"
