"""Retrievals and answers as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

from pydantic import ValidationInfo, field_validator

from rag.types import (
    AnswerState,
    AnswerStatus,
    Assessment,
    BudgetPart,
    Cost,
    Decision,
    SentenceCheck,
    SentenceVerdict,
    Usage,
    WordCorrection,
)
from rag.workspace.schemas.schema import Schema, attribute


class HitData(Schema):
    """A passage that was retrieved, with its scores."""

    rank: int
    chunk_id: str = attribute("chunk", "id")
    knowledge_base: str = attribute(
        "base", description="the source, if several were searched, or else empty"
    )
    document: str
    document_id: str = attribute("chunk", "document_id")
    url: str
    page: int | None = attribute("chunk", "page")
    heading: str = attribute("chunk", "heading")
    start: int = attribute("chunk", "start")
    end: int = attribute("chunk", "end")
    score: float
    relevance: float
    parts: dict[str, float]
    text: str = attribute("chunk", "text")
    context: str = attribute("chunk", "context")


class DroppedData(Schema):
    """A passage that a stage dropped, and the reason."""

    chunk_id: str = attribute("hit", "chunk", "id")
    reason: str


class StageData(Schema):
    """A stage of a retrieval: the passages in, out and dropped."""

    name: str
    taken: int
    given: int
    seconds: float
    note: str
    failed: bool
    figures: dict[str, int | float]
    hint: str
    dropped: list[DroppedData]


class TraceData(Schema):
    """A search: its hits, and the work of each stage."""

    question: str
    reading: str = attribute("searched", description="the question as it is searched")
    corrections: list[WordCorrection]
    hits: list[HitData]
    stages: list[StageData]
    threshold: float | None
    relevance: Literal["cosine", "probability"]
    passages: int
    seconds: float
    recipe: str


class CitationData(Schema):
    """A citation of an answer: the passage, and the words in it."""

    n: int
    chunk_id: str = attribute("hit", "chunk", "id")
    knowledge_base: str = attribute("hit", "base")
    document: str = attribute("hit", "document")
    page: int | None = attribute("cited_page")
    page_label: str
    text: str = attribute("hit", "chunk", "text")
    quote: str
    checked: bool
    answers: bool


class SentenceData(Schema):
    """A sentence of an answer, compared with the passages that it cites."""

    text: str
    start: int
    end: int
    verdict: SentenceVerdict
    cited: list[int]
    reasons: list[str]
    figures: list[str]
    share: float
    cosine: float | None
    judge: str


class ExampleData(Schema):
    """A past interaction that a prompt showed as an example."""

    turn: int
    question: str
    cosine: float = attribute("similarity")
    score: float
    thumb: int


class AnswerData(Schema):
    """An answer with its citations, and the decisions that led to it."""

    answer: str = attribute("text")
    citations: list[CitationData]
    mode: str
    status: AnswerStatus
    state: AnswerState | None
    assessment: Assessment | None
    note: str
    unsupported: list[int]
    sentences: list[SentenceData]
    decisions: list[Decision]
    budget: list[BudgetPart]
    prompt: str = attribute("prompt_version")
    quotes: list[CitationData]
    written: str
    reading: str = attribute("trace", "searched")
    corrections: list[WordCorrection] = attribute("trace", "corrections")
    examples: list[ExampleData]
    usage: Usage
    cost: Cost | None
    recipe: str = attribute("trace", "recipe")

    @field_validator("sentences", mode="before")
    @classmethod
    def _with_text(cls, checks: tuple[SentenceCheck, ...], info: ValidationInfo) -> list[Any]:
        text = info.data["answer"]
        return [{"text": text[check.start : check.end], **asdict(check)} for check in checks]
