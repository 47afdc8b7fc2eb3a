"""How a fitted calibration is told: what it recommends, and what that does on other questions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rag import FittedCalibration, Recommendation, ThresholdCurve, ThresholdPoint
from rag.cli.printing import Output


def calibration(
    found: FittedCalibration, wanted: Recommendation, held_out: ThresholdCurve
) -> Output:
    """``held_out`` has the floors on questions that the fit did not see."""
    checked = held_out.at(wanted.point.threshold) if wanted.point else None
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
        "precision": wanted.wanted,
        "threshold": wanted.point.threshold if wanted.point else None,
        "tuning": _point(wanted.point),
        "held_out": _point(checked),
    }
    lines = [
        f"fitted on {found.questions:,} tuning questions of {found.question_set!r}: Brier score "
        f"{quality.brier:.4f}, of the base rate {quality.base_brier:.4f}",
        wanted.sentence,
    ]
    if checked:
        lines += [
            f"the same threshold on the held-out questions: {checked.sentence}",
            "use it with --set search.relevance=probability "
            f"--set search.threshold={checked.threshold:.4f}",
        ]
    if not quality.useful:
        lines.append("it predicts no better than the base rate: keep the threshold on the cosine")
    return Output(data, "\n".join(lines))


def _point(point: ThresholdPoint | None) -> dict[str, float | None] | None:
    return asdict(point) if point else None
