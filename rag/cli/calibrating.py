"""How a fitted calibration is told: what it recommends, and what that does on other questions."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rag import FittedCalibration, Floor, Floors, Recommendation
from rag.cli.printing import Output


def calibration(found: FittedCalibration, wanted: Recommendation, held_out: Floors) -> Output:
    """``held_out`` has the floors on questions that the fit did not see."""
    checked = held_out.at(wanted.floor.threshold) if wanted.floor else None
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
        "threshold": wanted.floor.threshold if wanted.floor else None,
        "tuning": _floor(wanted.floor),
        "held_out": _floor(checked),
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


def _floor(floor: Floor | None) -> dict[str, float | None] | None:
    return asdict(floor) if floor else None
