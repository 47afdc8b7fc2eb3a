"""Decisions between two runs by few labels: start, list, hits to judge, grades."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request
from pydantic import Field

from rag import (
    EQUAL_MARGIN,
    DecisionData,
    DecisionEntryData,
    KnowledgeBase,
    decision_entry_data,
)
from rag.api.resource import Base, Body, Page, Part, Resource, needs
from rag.api.threads import dear

_DECISION = "/knowledge-bases/{kb}/runs/{run}/decision"

decisions = Resource("decisions")


class NewDecision(Body):
    """A decision to start, or to go on with."""

    against: str = Field(description="the other run")
    metric: str = Field("precision@10", description="precision@K or dcg@K")


class Judgement(Body):
    """The grade of a hit; a grade above 0 means relevant."""

    question: str
    passage: str
    grade: int = Field(ge=0, le=3)


class Judgements(NewDecision):
    """Grades of hits of a decision."""

    judgements: list[Judgement] = Field(max_length=1000)
    replace: bool = Field(True, description="also grade hits that somebody judged meanwhile")


@decisions.get("/knowledge-bases/{kb}/decisions", **needs("read", 404))
@dear
def list_decisions(request: Request, base: Base, part: Part) -> Page[DecisionEntryData]:
    """Open and finished decisions by the labels of today, newest first."""
    return part.of(request, base.runs.decisions(), decision_entry_data)


@decisions.post(_DECISION, **needs("label", 400, 404, 415))
@dear
def start_decision(base: Base, run: str, body: NewDecision) -> DecisionData:
    """Draw the hits to judge for two runs of a question set; go on with it if it was started."""
    base.runs.start_decision(run, body.against, body.metric)
    return _state(base, run, body)


@decisions.get(_DECISION, **needs("read", 400, 404))
@dear
def get_decision(
    base: Base,
    run: str,
    against: Annotated[str, Query(description="the other run")],
    metric: Annotated[str, Query(description="precision@K or dcg@K")] = "precision@10",
    margin: Annotated[
        float, Query(gt=0, lt=1, description="a smaller difference makes the runs equal")
    ] = EQUAL_MARGIN,
    limit: Annotated[int, Query(ge=0, le=200, description="hits to judge next")] = 10,
) -> DecisionData:
    """The verdict by the labels of today, and the hits to judge next."""
    return DecisionData.of(base.runs.decision(run, against, metric, margin, limit))


@decisions.post(f"{_DECISION}/judgements", **needs("label", 400, 404, 415))
@dear
def judge_decision(base: Base, run: str, body: Judgements) -> DecisionData:
    """Store grades of hits, all or none; return the state that they lead to."""
    grades = [(item.question, item.passage, item.grade) for item in body.judgements]
    judge = base.runs.judge_decision
    judge(run, body.against, body.metric, grades, replace_labels=body.replace)
    return _state(base, run, body)


def _state(base: KnowledgeBase, run: str, body: NewDecision) -> DecisionData:
    return DecisionData.of(base.runs.decision(run, body.against, body.metric))
