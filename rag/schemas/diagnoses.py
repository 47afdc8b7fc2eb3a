"""Diagnoses as JSON."""

from __future__ import annotations

from typing import Any, Literal

from rag.schemas.schema import Schema, attribute
from rag.tuning.diagnosis.causes import CAUSES
from rag.tuning.diagnosis.diagnosis import Diagnosis
from rag.tuning.diagnosis.fixes import Fix
from rag.tuning.diagnosis.next_steps import NextStep


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

    ``net_gain`` is the mean difference of the metric over all held-out questions. ``won`` and
    ``lost`` count the questions that gain and that lose.
    """

    changes: dict[str, Any]
    causes: list[str]
    tried: int
    tuning_gain: float
    net_gain: float
    interval: list[float]
    confidence: float
    p: float
    verdict: Literal["better", "worse", "undecided", "incomparable"]
    won: int
    lost: int
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
        fixes=[_fix(fix) for fix in trials.fixes],
        without_gain=list(trials.without_gain),
        note=" ".join(filter(None, [trials.note, diagnosis.note])),
        next_steps=[_next_step(step) for step in diagnosis.next_steps],
    )


def _next_step(step: NextStep) -> NextStepData:
    return NextStepData(
        kind=step.kind,
        title=step.title,
        reason=step.reason,
        gain=step.gain,
        minutes=None if step.seconds is None else step.seconds / 60,
        gain_per_minute=step.gain_per_minute,
        changes=[dict(change) for change in step.changes],
    )


def _fix(fix: Fix) -> FixData:
    comparison = fix.comparison
    return FixData(
        changes=dict(fix.changes),
        causes=list(fix.causes),
        tried=fix.tried,
        tuning_gain=fix.tuning_gain,
        net_gain=comparison.difference,
        interval=list(comparison.interval),
        confidence=comparison.confidence,
        p=comparison.p,
        verdict=comparison.verdict,
        won=comparison.won,
        lost=comparison.lost,
        losers=[name for name, value in comparison.differences.items() if value < 0],
        rescued=list(fix.rescued),
        broken=list(fix.broken),
        sentence=fix.sentence,
    )
