"""Diagnoses as JSON."""

from __future__ import annotations

from typing import Any, Literal

from rag.experiments.tuning.diagnosis.causes import CAUSES
from rag.experiments.tuning.diagnosis.diagnosis import Diagnosis
from rag.workspace.schemas.schema import Schema, attribute


class FailedQuestionData(Schema):
    """A failed question with its first cause, and the evidence of it."""

    id: str
    question: str = attribute("text")
    score: float
    cause: str
    evidence: str = attribute("finding", "evidence")
    figures: dict[str, float] = attribute("finding", "figures")
    passage: str
    document: str
    page: int | None


class CauseData(Schema):
    """A cause with the number of questions that failed by it."""

    cause: str
    title: str
    questions: int
    advice: str


class FixData(Schema):
    """A change of the recipe, chosen on the tuning questions and measured on the held-out ones.

    ``net_gain`` is the mean difference over all held-out questions: of the metric, or of the score
    that ``sentence`` names. ``won`` and
    ``lost`` count the questions that gain and that lose.
    """

    changes: dict[str, Any]
    causes: list[str]
    tried: int
    tuning_gain: float
    net_gain: float = attribute("comparison", "difference")
    interval: list[float] = attribute("comparison", "interval")
    confidence: float = attribute("comparison", "confidence")
    p: float = attribute("comparison", "p")
    verdict: Literal["better", "worse", "undecided", "incomparable"] = attribute(
        "comparison", "verdict"
    )
    won: int = attribute("comparison", "won")
    lost: int = attribute("comparison", "lost")
    losers: list[str]
    rescued: list[str]
    broken: list[str]
    sentence: str


class NextStepData(Schema):
    """A step of the list "What should I do next?".

    ``gain`` is the expected gain of the metric, null where it is unknown, as is ``minutes``.
    ``changes`` has the change of a fix or of a larger top-k, or those that a rebuild tries.
    """

    kind: Literal["fix", "top_k", "rebuild", "advice", "label", "nothing"]
    title: str
    reason: str
    gain: float | None
    minutes: float | None
    gain_per_minute: float | None
    changes: list[dict[str, Any]]


class DiagnosisData(Schema):
    """The failed questions of a set by cause, the fixes that were tried, and what to do next."""

    set: str
    recipe: str
    asked: int
    failed: int
    metric: str
    causes: list[CauseData]
    questions: list[FailedQuestionData]
    fixes: list[FixData]
    without_gain: list[str]
    note: str
    next_steps: list[NextStepData]


def diagnosis_data(diagnosis: Diagnosis) -> DiagnosisData:
    """Return a diagnosis as typed JSON."""
    trials = diagnosis.trials
    return DiagnosisData(
        set=diagnosis.question_set,
        recipe=diagnosis.recipe.hash,
        asked=diagnosis.asked,
        failed=len(diagnosis.questions),
        metric=trials.metric,
        causes=[
            CauseData(
                cause=cause,
                title=CAUSES[cause].title,
                questions=count,
                advice=diagnosis.advice(cause),
            )
            for cause, count in diagnosis.causes.items()
        ],
        questions=[FailedQuestionData.of(question) for question in diagnosis.questions],
        fixes=[FixData.of(fix) for fix in trials.fixes],
        without_gain=list(trials.without_gain),
        note=" ".join(filter(None, [trials.note, diagnosis.note])),
        next_steps=[NextStepData.of(step) for step in diagnosis.next_steps],
    )
