"""Output of the verbs that measure many recipes, or check one against requirements."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from rag import (
    Best,
    BuildFigures,
    FittedCalibration,
    Mismatch,
    PromiseCurves,
    RefusalLimit,
    SplitSelection,
    Sweep,
    ThresholdCurve,
    ThresholdPoint,
    ThresholdPromise,
    counted,
    percent,
)
from rag.cli.printing import Output, encodable

REFUSAL_COST = 0.05
"""The share of the answerable questions that a limit of refusal may cost."""
_BEST = 20
_MEASURES = ("recall", "precision", "iou")
_SPANS = [f"{unit}_{measure}" for unit in ("span", "token") for measure in _MEASURES]


def sweep(
    result: Sweep,
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
        "set": result.set_name,
        "recipes": len(result.grid),
        "distinct": result.distinct,
        "questions": result.questions,
        "seconds": result.seconds,
        "recipes_per_second": result.recipes_per_second,
        "fetch_seconds": result.fetch_seconds,
        "processor_seconds": result.processor_seconds,
        "verified": verified,
        "mismatches": list(map(_mismatch, mismatches)),
        "base": {"recipe": result.grid.base.hash, "metrics": result.base},
        "best": None if best is None else _best(best),
        "skipped": [*result.grid.skipped, *result.grid.repeated],
        "cautions": result.cautions,
        "results": list(map(_built, rows)) if rows else _results(result),
    }
    lines = _sweep_lines(result, mismatches, verified, by)
    if best is not None:
        lines += _best_lines(best)
    if rows:
        # A line a recipe: the fields that differ, the passages, and how well they do.
        k = 5 if 5 in result.cutoffs else result.cutoffs[0]
        deep = 10 if 10 in result.cutoffs else result.cutoffs[-1]
        names = [name for name in (f"{span}@{k}" for span in _SPANS) if name in rows[0].metrics]
        names.append(f"ndcg@{deep}")
        fields = [
            name
            for name in rows[0].changes
            if len(rows) == 1 or len({json.dumps(row.changes[name]) for row in rows}) > 1
        ]
        head = [*(name.partition(".")[2] for name in fields), "passages", "tokens", *names]
        table = [head, *(_cells(row, fields, names) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines += ["", *["  ".join(map(str.rjust, cells, widths)) for cells in table]]
    # Return the recipes that the grid skipped, with the reasons.
    reasons = {
        "skipped, the overlap must be less than the size: ": result.grid.skipped,
        "skipped, same index as a row above: ": result.grid.repeated,
    }
    return Output(
        data,
        "\n".join(
            [
                *lines,
                *(
                    [
                        reason + _assignments(changes)
                        for reason, left_out in reasons.items()
                        for changes in left_out
                    ]
                ),
            ]
        ),
        not mismatches,
    )


def _mismatch(mismatch: Mismatch) -> dict[str, Any]:
    return {
        "recipe": mismatch.recipe.hash,
        "metric": mismatch.name,
        "swept": mismatch.swept,
        "evaluated": mismatch.evaluated,
    }


def _built(row: BuildFigures) -> dict[str, Any]:
    return {
        "recipe": row.recipe.hash,
        "metrics": row.metrics,
        "set": row.changes,
        "passages": row.passages,
        "mean_tokens": row.mean_tokens,
    }


def _best(best: Best) -> dict[str, Any]:
    selection, compared = best.selection, best.selection.comparison
    is_split = isinstance(selection, SplitSelection)
    data = {
        "recipe": best.recipe.hash,
        "by": "held-out questions" if is_split else "cross-validation",
        "metric": compared.metric,
        "tried": selection.tried,
        "verdict": compared.verdict,
        "gain": compared.difference,
        "interval": compared.interval,
        "confidence": compared.confidence,
        "p": compared.p,
        "level": compared.alpha,
        "attempt": best.attempt.number,
        "split": best.attempt.split,
    }
    if isinstance(selection, SplitSelection):
        return {**data, "lead": selection.tuning_lead}
    return {**data, "lead": selection.lead, "agreement": selection.agreement}


def _best_lines(best: Best) -> list[str]:
    lines = [best.selection.sentence]
    if best.recipe != best.baseline:
        lines.append(best.selection.comparison.evidence)
    return [*lines, *([best.attempt.sentence] if best.attempt.sentence else [])]


def _results(result: Sweep) -> list[dict[str, Any]]:
    return [
        {
            "recipe": result.grid.recipe(number).hash,
            "metrics": result.metrics(number),
            "set": result.grid.changes(number),
        }
        for number in range(len(result.grid))
    ]


def _sweep_lines(
    result: Sweep, mismatches: Sequence[Mismatch], verified: int | None, by: str
) -> list[str]:
    count = len(result.grid)
    lines = [
        f"{counted(count, 'combination')} on {counted(result.questions, 'question')} of "
        f"{result.set_name!r}: candidates in "
        f"{result.fetch_seconds:.1f} s, then {result.seconds:.2f} s "
        f"({result.recipes_per_second:,.0f} a second); "
        f"{counted(result.distinct, 'different recipe')}",
        f"{by:>10}  recipe",
    ]
    lines += [
        f"{result.metrics(number)[by]:10.4f}  "
        + (_assignments(result.grid.changes(number)) or "as it is")
        for number in result.best(by, _BEST)
    ]
    place = result.place(by)
    standing = f"place {place:,} of {count:,}" if place <= count else "behind all of them"
    lines.append(f"{result.base[by]:10.4f}  the present recipe, {standing}")
    lines += result.cautions
    if verified is not None:
        lines.append(
            f"{counted(verified, 'recipe')} verified by ordinary evaluations: "
            + (
                f"{counted(len(mismatches), 'metric')} not the same"
                if mismatches
                else "all metrics identical"
            )
        )
    lines += [
        f"  recipe {mismatch.recipe.hash} {mismatch.name}: swept {mismatch.swept!r}, "
        f"evaluated {mismatch.evaluated!r}"
        for mismatch in mismatches[:_BEST]
    ]
    return lines


def _assignments(fields: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in fields.items())


def _cells(row: BuildFigures, fields: Sequence[str], names: Sequence[str]) -> list[str]:
    values = [row.changes[name] for name in fields]
    cells = [value if isinstance(value, str) else json.dumps(value) for value in values]
    shares = [percent(row.metrics[name], 1) for name in names[:-1]]
    ndcg = f"{row.metrics[names[-1]]:.4f}"
    return [*cells, f"{row.passages:,}", f"{row.mean_tokens:.1f}", *shares, ndcg]


def calibration(
    fitted: FittedCalibration, promise: ThresholdPromise, refusal: RefusalLimit | None
) -> Output:
    """Return the output of a calibration, with the threshold that promises a precision.

    ``refusal`` is the limit chosen by the labels, None if there are too few or nothing to choose.
    """
    quality = fitted.quality
    data = {
        **_promised(promise),
        "set": fitted.question_set,
        "set_version": fitted.set_version,
        "questions": fitted.questions,
        "weights": fitted.model.weights,
        "intercept": fitted.model.intercept,
        "quality": {**encodable(quality), "useful": quality.useful},
        "reliability": fitted.bins,
        "auto": fitted.threshold,
        "refuse": refusal,
    }
    lines = [
        f"fitted on {fitted.questions:,} tuning questions of {fitted.question_set!r}: Brier score "
        f"{quality.brier:.4f}, of the base rate {quality.base_brier:.4f}",
        *_promise_lines(promise),
    ]
    if promise.point:
        lines.append(
            "use it with --set search.relevance=probability "
            f"--set search.threshold={_rounded_down(promise.point)}",
        )
    if not quality.useful:
        lines.append(quality.sentence)
    if refusal:
        lines.append(f"search.refuse={refusal.limit:.4f} {refusal.sentence}")
    return Output(data, "\n".join(lines))


def threshold(
    limit: float | None, curve: ThresholdCurve, curves: PromiseCurves, precision: float
) -> Output:
    """Return the output for a threshold, and the threshold that promises the wanted precision.

    ``limit`` None means that the threshold is off.
    """
    now, promise = None if limit is None else curve.at(limit), curves.promise(precision)
    data = {**_promised(promise), "now": _point(now)}
    current = "off" if now is None else f"{now.threshold:.3f}: {now.sentence}"
    lines = [f"threshold now {current}", *_promise_lines(promise)]
    if promise.point:
        lines.append(f"use it with --set search.threshold={_rounded_down(promise.point)}")
    return Output(data, "\n".join(lines))


def _promised(promise: ThresholdPromise) -> dict[str, Any]:
    return {
        "precision": promise.target,
        "confidence": promise.confidence,
        "threshold": promise.point.threshold if promise.point else None,
        "promised": promise.bound,
        "possible": promise.possible,
        "needed_questions": promise.needed,
        "missing_questions": promise.missing,
        "tuning": _point(promise.point),
        "held_out": _point(promise.checked),
    }


def _point(point: ThresholdPoint | None) -> Mapping[str, Any] | None:
    return point.figures() if point else None


def _promise_lines(promise: ThresholdPromise) -> list[str]:
    return [promise.sentence, *([promise.check] if promise.check else [])]


def _rounded_down(point: ThresholdPoint) -> str:
    """Return a threshold rounded down, so that no passage that reached it is lost."""
    return f"{math.floor(point.threshold * 10_000) / 10_000:.4f}"
