"""Builds as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from rag.documents.library import Library
from rag.documents.stores.vector_check import ForeignVector
from rag.recipe import IndexRecipe, Recipe
from rag.schemas.schema import Schema, Timestamp, attribute
from rag.storage.builds import BuildRow


class VectorsData(Schema):
    """The search method of a build's vectors, and the reason for it."""

    asked: Literal["auto", "flat", "hnsw", "ivf"]
    kind: Literal["auto", "flat", "hnsw", "ivf"]
    vectors: int
    dimension: int
    limit: int | None
    why: str = attribute("details")


class BuildData(Schema):
    """A build of some documents; ``active`` is the one that answers."""

    hash: str
    active: bool
    cut: str
    recipe: IndexRecipe
    documents: int
    missing: int
    passages: int
    vectors: VectorsData
    created: Timestamp


def build_data(documents: Library, build: BuildRow, active: str) -> BuildData:
    """Describe a build; ``active`` is the hash of the one that answers.

    Raises InvalidRecipe, ProviderError.
    """
    return BuildData(
        hash=build.hash,
        active=build.hash == active,
        cut=build.recipe.cut,
        recipe=build.recipe,
        documents=build.documents,
        missing=documents.missing(build.recipe),
        passages=build.passages,
        vectors=VectorsData.of(documents.vector_index(build.recipe)),
        created=build.created,
    )


class MoneyData(Schema):
    """Money in a currency, by the table of prices."""

    amount: float
    currency: str


class MigrationCostData(Schema):
    """The estimated work of moving to another embedder; bytes are those of the vectors."""

    passages: int
    to_embed: int
    tokens: int
    seconds: float | None
    price: MoneyData | None
    bytes_before: int
    bytes_after: int


class VectorCheckData(Schema):
    """A sample of stored vectors compared with those of their texts."""

    sampled: int
    foreign: list[ForeignVector]
    share: tuple[float, float]
    median: float = Field(description="the median cosine of the sample")


class MigrationStepData(Schema):
    """A step of a migration."""

    title: str
    state: Literal["done", "next", "later"]


class MigrationData(Schema):
    """The plan of a move to another embedder: recipe, costs, check of vectors, steps."""

    embedder_before: str = attribute("before", "index", "embedder")
    embedder: str = attribute("after", "index", "embedder")
    recipe: Recipe = attribute("after")
    cost: MigrationCostData
    check: VectorCheckData
    steps: list[MigrationStepData]


class EffectQuestionData(Schema):
    """The metric of one question with both embedders."""

    id: str = attribute("question_id")
    question: str = attribute("text")
    before: float
    after: float


class MigrationEffectData(Schema):
    """The effect of a move: ``before`` and ``after`` are runs, ``won`` and ``lost`` counts.

    ``questions`` have the largest difference first.
    """

    before: str = attribute("baseline", "id")
    after: str = attribute("run", "id")
    metric: str = attribute("figures", "metric")
    difference: float = attribute("figures", "difference")
    interval: list[float] = attribute("figures", "interval")
    confidence: float = attribute("figures", "confidence")
    p: float = attribute("figures", "p")
    verdict: Literal["better", "worse", "undecided", "incomparable"] = attribute(
        "figures", "verdict"
    )
    sentence: str = attribute("figures", "headline")
    won: int = attribute("figures", "won")
    lost: int = attribute("figures", "lost")
    questions: list[EffectQuestionData] = attribute("rows")

    @field_validator("interval", mode="before")
    @classmethod
    def _ends(cls, interval: Any) -> list[float]:
        return list(interval)


class SwitchParityData(Schema):
    """The number of questions whose ranking after the switch is the measured one."""

    equal: int
    questions: int


class MeasuredMigrationData(MigrationData):
    """A measured move: its plan, what it wins and loses, and the comparison after the switch.

    ``current`` says whether questions and documents are those of the measurement. ``effect`` is
    null where a run was deleted, ``parity`` before the switch.
    """

    set: str
    current: bool
    seconds_measured: float = Field(description="what building the index took")
    effect: MigrationEffectData | None
    parity: SwitchParityData | None
