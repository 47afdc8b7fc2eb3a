"""Runs, diagnoses, decisions and systems under test as JSON."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import fmean
from typing import Any, Literal

from pydantic import Field

from rag.experiments.runs.decisions import DecisionEntry
from rag.experiments.tuning.diagnosis.causes import CAUSES
from rag.experiments.tuning.diagnosis.diagnosis import Diagnosis
from rag.storage.quality.answers import RunAnswer
from rag.types import Cost
from rag.types.schema import Schema, Timestamp, attribute


class SystemSourceData(Schema):
    """The system that a run measured, and what came of the texts and questions."""

    kind: str
    name: str
    version: int = Field(description="counts the definitions of a stored system; 0 for others")
    hash: str = Field(description="SHA-256 of its definition, or of the file with its results")
    located: dict[str, int] = Field(description="returned texts by how they were located")
    errors: dict[str, str] = Field(description="the reason by id of each question that failed")
    hops: dict[str, float | int | None] = Field(
        description="means of the questions with several retrievals; empty without any"
    )
    repeated: int = Field(default=0, description="questions that a result was returned for twice")


class MeasuredData(Schema):
    """The metrics of a run, which measured a recipe or a system."""

    run: str = attribute("id")
    recipe: str | None = attribute("recipe_hash", description="its hash; null for a system")
    system: SystemSourceData | None
    set: str = attribute("question_set")
    questions: int
    metrics: dict[str, float]
    context_tokens: float | None = Field(
        default=None, description="handed to a model for a question, about; null where unknown"
    )
    cautions: list[str] = Field(
        default=[], description="what keeps the figures from telling good from bad"
    )


class RunData(MeasuredData):
    """A run."""

    created: Timestamp
    seconds: float
    note: str
    tags: list[str]


class ResultData(Schema):
    """The result of one question of a run."""

    id: str = attribute("question_id")
    question: str = attribute("text")
    tags: list[str]
    answerable: bool
    metrics: dict[str, float]
    first_relevant: int | None
    found: int
    relevant: int
    cut_rank: int | None


class CostsData(Schema):
    """Costs by currency, and the number of answers of unknown cost."""

    known: dict[str, float]
    not_known: int

    @classmethod
    def total(cls, costs: Sequence[Cost | None]) -> CostsData:
        """Add costs up."""
        known = [cost for cost in costs if cost is not None]
        currencies = sorted({cost.currency for cost in known})
        sums = {
            name: sum(cost.amount for cost in known if cost.currency == name) for name in currencies
        }
        return cls(known=sums, not_known=len(costs) - len(known))


class AnswersSpentData(Schema):
    """The time, tokens and costs of answers and of their judge."""

    seconds: float | None = Field(description="mean of the answers")
    tokens: int
    cost: CostsData
    judge_tokens: int
    judge_cost: CostsData


def answers_spent_data(answers: Collection[RunAnswer]) -> AnswersSpentData:
    """Add up the time, tokens and costs of answers."""
    return AnswersSpentData(
        seconds=fmean(answer.seconds for answer in answers) if answers else None,
        tokens=sum(answer.tokens for answer in answers),
        cost=CostsData.total([answer.price for answer in answers]),
        judge_tokens=sum(answer.judge_tokens for answer in answers),
        judge_cost=CostsData.total([answer.judge_price for answer in answers]),
    )


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

    set: str = attribute("question_set")
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
    return DiagnosisData.of(
        diagnosis,
        recipe=diagnosis.recipe.hash,
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
        fixes=trials.fixes,
        without_gain=trials.without_gain,
        note=" ".join(filter(None, [trials.note, diagnosis.note])),
    )


class HitToJudgeData(Schema):
    """A hit without a label, with the names that a judgement has."""

    question: str = attribute("question_id", description="the id of the question")
    question_text: str = attribute("question")
    passage: str = attribute("item", description="the id of the passage or document")
    document_id: str
    document: str
    page: int | None
    start: int
    end: int | None = Field(description="null for a whole document")
    text: str
    ranks: list[int | None] = Field(description="from 1, in the two runs")


class DecisionData(Schema):
    """The state of a decision between two runs, with the hits to judge next."""

    run: str
    other: str
    metric: str
    set: str = attribute("question_set")
    questions: int
    verdict: str = attribute(
        "state", "verdict", description="of `run`: better, worse, equal or open"
    )
    difference: float = attribute("state", "difference")
    interval: list[float] = attribute(
        "state", "interval", description="95%, valid however often you look"
    )
    margin: float = attribute("state", "margin")
    labels: int = attribute("state", "labels", description="judged hits")
    pool: int = attribute("state", "pool", description="drawn hits")
    before: int = Field(description="hits with a label from before the draw")
    more: int | None = attribute(
        "state", "more", description="about how many more labels decide this"
    )
    steps: list[list[float]] = attribute(
        "state", "steps", description="labels, difference, low and high after each"
    )
    sentence: str
    next: list[HitToJudgeData] = attribute("next_hits")


class DecisionEntryData(Schema):
    """A decision in a list; the verdict is null where ``obstacle`` says what is gone."""

    run: str
    other: str
    metric: str
    started: Timestamp
    set: str | None
    verdict: str | None
    difference: float | None
    interval: list[float] | None
    labels: int | None
    pool: int | None
    more: int | None
    obstacle: str


def decision_entry_data(entry: DecisionEntry) -> DecisionEntryData:
    """A decision of a list as JSON."""
    decided = entry.decision
    names = ("verdict", "difference", "interval", "labels", "pool", "more")
    state = {name: decided and getattr(decided.state, name) for name in names}
    return DecisionEntryData.of(entry, set=decided and decided.question_set, **state)
