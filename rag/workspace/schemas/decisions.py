"""Decisions between two runs as JSON."""

from __future__ import annotations

from pydantic import Field

from rag.experiments.runs.deciding.state import DecisionEntry
from rag.workspace.schemas.schema import Schema, Timestamp, attribute


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
