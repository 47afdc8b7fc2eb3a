"""Looks of the drift watch as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag.schemas.schema import Schema, Timestamp, attribute
from rag.watch.report import CanaryChange


class MovedTextData(Schema):
    """A fixed sentence with another vector than in the reference."""

    text: str
    cosine: float


class VectorDriftData(Schema):
    """Vectors of ten fixed sentences, and of a sample of the index."""

    embedder: str
    lowest: float = Field(description="the lowest cosine of a sentence to its vector before")
    moved: list[MovedTextData]
    sampled: int
    foreign: int = Field(description="sampled vectors of the index that the embedder did not make")


class MetricDriftData(Schema):
    """nDCG@10 against the reference; `level` is the p-value that drift needs at this look."""

    mean: float
    reference: float
    difference: float
    p: float
    level: float
    number: int = Field(description="the number of different results since the reference")
    questions: int
    won: int
    lost: int
    verdict: Literal["better", "worse", "undecided", "same"]


class QuestionDriftData(Schema):
    """Questions of chats against labelled ones: coefficient of inhomogeneity and p-value."""

    asked: int
    labelled: int
    distance: float
    p: float
    has_moved: bool
    is_new: bool = Field(description="false for the result of an earlier look")


class WatchLookData(Schema):
    """A look; `metrics` and `questions` are null where nothing was compared."""

    id: str
    created: Timestamp
    set: str = attribute("report", "question_set")
    recipe: str = attribute("report", "recipe")
    is_reference: bool = attribute("report", "is_reference")
    outcome: Literal["reference", "passed", "drifted", "incomparable"] = attribute(
        "report", "outcome"
    )
    headline: str = attribute("report", "headline")
    findings: list[str] = attribute("report", "findings")
    obstacles: list[str] = attribute("report", "obstacles")
    notes: list[str] = attribute("report", "notes")
    mean: float = attribute("report", "mean", description="the mean nDCG@10")
    vectors: VectorDriftData = attribute("report", "vectors")
    metrics: MetricDriftData | None = attribute("report", "metrics")
    canaries: int = attribute("report", "canaries", description="the number of canary questions")
    changed: list[CanaryChange] = attribute("report", "changed")
    questions: QuestionDriftData | None = attribute("report", "questions")
