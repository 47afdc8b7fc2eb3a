"""Retrievals, answers and explanations as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Literal

from pydantic import ValidationInfo, field_validator

from rag.experiments.explanation.counterfactuals import Counterfactual
from rag.experiments.explanation.explainer import Explainer, Finding
from rag.experiments.explanation.recipe_comparison import Attribution, RetrievalComparison, TextPart
from rag.experiments.explanation.standing import Match, Standing, StepOutcome
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
from rag.types.schema import Schema, attribute


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
    title: str
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


class StepData(Schema):
    """The outcome of one stage for a passage."""

    stage: str
    fate: StepOutcome = attribute("outcome")
    words: str


class ChangeData(Schema):
    """The smallest change of one field that would turn the fate of a passage around."""

    field: str
    enters: bool
    now: int | float | None
    value: int | float | None
    bound: int | float | None
    falls_short: int | float | None = attribute("shorter")
    exact: bool
    searches: int
    words: str

    @field_validator("field")
    @classmethod
    def _dotted(cls, field: str) -> str:
        return f"search.{field}"


class GapData(Schema):
    """The lead of the last result over a passage."""

    last_shown: str = attribute("last", "chunk", "id")
    dense: float
    bm25: float | None
    score: float | None


class ContextData(Schema):
    """The contribution of the text that is indexed before a passage."""

    text: str
    change: float


class AttributionData(Schema):
    """The contributions of sentences and words to the cosine of a passage."""

    cosine: float
    sentences: list[TextPart]
    words: list[TextPart]
    context: ContextData | None
    embeddings: int


class StandingData(Schema):
    """The standing of a passage, or the reason for its elimination."""

    chunk_id: str = attribute("chunk", "id")
    document: str
    page: int | None = attribute("chunk", "page")
    rank: int | None
    lost: str | None
    reason: str
    steps: list[StepData]
    dense: float = attribute("figures", "dense")
    dense_rank: int | None = attribute("figures", "dense_rank")
    bm25: float = attribute("figures", "bm25")
    bm25_rank: int | None = attribute("figures", "bm25_rank")
    lacking: list[str] = attribute("figures", "lacking")
    text: str = attribute("chunk", "text")
    context: str = attribute("chunk", "context")

    @field_validator("lost", mode="before")
    @classmethod
    def _nowhere(cls, lost: str) -> str | None:
        return lost or None


class PassageData(StandingData):
    """One passage: its standing, the changes that would alter it, and the parts of its cosine."""

    question: str
    recipe: str
    changes: list[ChangeData]
    attribution: AttributionData | None


class FindingData(StandingData):
    """A passage that matches what was looked for; ``gap`` is null if it is shown."""

    match: Match
    gap: GapData | None
    changes: list[ChangeData]


class FindingsData(Schema):
    """The passages that match what was looked for."""

    question: str
    recipe: str
    found: list[FindingData]


class RankedData(Schema):
    """A place of a ranking; ``other_rank`` is the rank of the passage in the other one."""

    rank: int
    chunk_id: str | None
    document: str
    score: float
    grade: int
    other_rank: int | None = attribute("other")


class SideData(Schema):
    """The results of one of two recipes."""

    recipe: str
    hits: list[RankedData]


class LabelRanksData(Schema):
    """A label, and its ranks in both results; null if it is not shown."""

    document: str = attribute("label", "document_name")
    quote: str = attribute("label", "quote")
    before: int | None
    after: int | None


class ComparedData(Schema):
    """The results of two recipes for one question."""

    question: str
    overlap: float
    before: SideData
    after: SideData
    labels: list[LabelRanksData]


def passage_data(
    explainer: Explainer,
    standing: Standing,
    changes: Sequence[Counterfactual],
    attribution: Attribution | None,
) -> PassageData:
    """Describe one passage."""
    return PassageData.of(
        standing,
        question=explainer.trace.question,
        recipe=explainer.recipe.hash,
        changes=changes,
        attribution=attribution,
    )


def findings_data(
    explainer: Explainer,
    findings: Sequence[Finding],
    changes: Sequence[Sequence[Counterfactual]],
) -> FindingsData:
    """Describe passages that were looked for; ``changes`` has those of each finding."""
    return FindingsData(
        question=explainer.trace.question,
        recipe=explainer.recipe.hash,
        found=[
            FindingData.of(
                finding.standing, match=finding.match, gap=finding.gap, changes=its_changes
            )
            for finding, its_changes in zip(findings, changes, strict=True)
        ],
    )


def compared_data(comparison: RetrievalComparison) -> ComparedData:
    """Describe a comparison of two recipes."""
    before, after = (
        SideData(recipe=trace.recipe, hits=list(map(RankedData.of, places)))
        for trace, places in (
            (comparison.before, comparison.sides.before),
            (comparison.after, comparison.sides.after),
        )
    )
    return ComparedData(
        question=comparison.sides.question,
        overlap=comparison.overlap,
        before=before,
        after=after,
        labels=list(map(LabelRanksData.of, comparison.labels)),
    )
