"""Decisions between two runs as JSON."""

from __future__ import annotations

from pydantic import Field

from rag.runs.deciding.state import DecisionEntry, HitToJudge, RunDecision
from rag.schemas.schema import Schema, Timestamp


class HitToJudgeData(Schema):
    """A hit without a label, with the names that a judgement has."""

    question: str = Field(description="the id of the question")
    question_text: str
    passage: str = Field(description="the id of the passage or document")
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
    set: str
    questions: int
    verdict: str = Field(description="of `run`: better, worse, equal or open")
    difference: float
    interval: list[float] = Field(description="95%, valid however often you look")
    margin: float
    labels: int = Field(description="judged hits")
    pool: int = Field(description="drawn hits")
    before: int = Field(description="hits with a label from before the draw")
    more: int | None = Field(description="about how many more labels decide this")
    steps: list[list[float]] = Field(description="labels, difference, low and high after each")
    sentence: str
    next: list[HitToJudgeData]


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


def decision_data(decision: RunDecision) -> DecisionData:
    """The state of a decision as JSON."""
    state = decision.state
    return DecisionData(
        run=decision.run,
        other=decision.other,
        metric=decision.metric,
        set=decision.question_set,
        questions=decision.questions,
        verdict=state.verdict,
        difference=state.difference,
        interval=list(state.interval),
        margin=state.margin,
        labels=state.labels,
        pool=state.pool,
        before=decision.before,
        more=state.more,
        steps=[[step.labels, step.difference, step.low, step.high] for step in state.steps],
        sentence=decision.sentence,
        next=list(map(_hit, decision.next_hits)),
    )


def decision_entry_data(entry: DecisionEntry) -> DecisionEntryData:
    """A decision of a list as JSON."""
    state = None if entry.decision is None else entry.decision.state
    return DecisionEntryData(
        run=entry.run,
        other=entry.other,
        metric=entry.metric,
        started=entry.started,
        set=entry.decision and entry.decision.question_set,
        verdict=state and state.verdict,
        difference=None if state is None else state.difference,
        interval=None if state is None else list(state.interval),
        labels=None if state is None else state.labels,
        pool=None if state is None else state.pool,
        more=None if state is None else state.more,
        obstacle=entry.obstacle,
    )


def _hit(hit: HitToJudge) -> HitToJudgeData:
    return HitToJudgeData(
        question=hit.question_id,
        question_text=hit.question,
        passage=hit.item,
        document_id=hit.document_id,
        document=hit.document,
        page=hit.page,
        start=hit.start,
        end=hit.end,
        text=hit.text,
        ranks=list(hit.ranks),
    )
