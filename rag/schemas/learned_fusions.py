"""Learned fusions as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from rag.learned_fusion import FusionModel
from rag.schemas.schema import Schema, Timestamp, attribute


class PassportData(Schema):
    """The gain of a learned fusion on questions or documents that it did not see."""

    unit: Literal["questions", "documents"]
    folds: int
    metric: str = attribute("comparison", "metric")
    mean: float = attribute("comparison", "mean")
    baseline: float = attribute("comparison", "baseline")
    difference: float = attribute("comparison", "difference")
    interval: list[float] = attribute("comparison", "interval")
    confidence: float = attribute("comparison", "confidence")
    p: float = attribute("comparison", "p")
    verdict: Literal["better", "worse", "undecided", "incomparable"] = attribute(
        "comparison", "verdict"
    )
    sentence: str = attribute("comparison", "sentence")

    @field_validator("interval", mode="before")
    @classmethod
    def _ends(cls, interval: Any) -> list[float]:
        return list(interval)


class LearnedOutcomeData(Schema):
    """The outcome of learning a fusion; ``hash`` is empty where it was refused."""

    kind: Literal["linear", "trees"]
    set: str = attribute("question_set")
    questions: int
    recipe: str = Field(description="the hash of the recipe that it was compared with")
    hash: str
    version: int
    headline: str
    passports: list[PassportData]


class LearnedFusionData(Schema):
    """A stored learned fusion: ``weights`` of a linear one, ``trees`` as XGBoost dumps them."""

    hash: str
    version: int
    kind: Literal["linear", "trees"]
    set: str = attribute("question_set")
    set_version: int
    questions: int
    learned_with: dict[str, Any] = Field(description="recipe fields that its features depend on")
    model: dict[str, Any]
    passports: list[PassportData]
    created: Timestamp

    @field_validator("model", mode="before")
    @classmethod
    def _json(cls, model: FusionModel) -> dict[str, Any]:
        return model.to_dict()
