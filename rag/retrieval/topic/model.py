"""A probability from the evidence, and the decision that follows from it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from rag.errors import InvalidInput
from rag.recipe import Refuse
from rag.retrieval.topic.evidence import TopicEvidence

_SHIPPED = Path(__file__).with_name("weights.json")


@dataclass(frozen=True, slots=True)
class TopicModel:
    """Logistic regression on evidence. ``limit`` is what ``auto`` means.

    ``source`` says in words who taught it.
    """

    weights: Mapping[str, float]
    intercept: float
    limit: float
    source: str

    def judged(self, evidence: TopicEvidence) -> Topic:
        """The evidence on one question with its probability."""
        logit = self.intercept + sum(
            weight * getattr(evidence, name) for name, weight in self.weights.items()
        )
        return Topic(evidence, 0.5 * (1.0 + math.tanh(0.5 * logit)), self.limit)

    @property
    def digest(self) -> str:
        """Twelve hex digits over what decides."""
        return hashlib.sha256(json.dumps(self.to_dict(), sort_keys=True).encode()).hexdigest()[:12]

    def to_dict(self) -> dict[str, Any]:
        """Return the model as JSON-compatible data, without loss."""
        return {**asdict(self), "weights": dict(self.weights)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TopicModel:
        """Return the model that ``to_dict`` wrote. Raises InvalidInput for other data."""
        try:
            model = cls(
                {str(name): float(value) for name, value in stored["weights"].items()},
                float(stored["intercept"]),
                float(stored["limit"]),
                str(stored["source"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidInput(
                "A stored model of refusal is damaged.", "Install the program again."
            ) from error
        if not all(hasattr(TopicEvidence, name) for name in model.weights):
            raise InvalidInput(
                "A stored model of refusal is of another version.", "Install the program again."
            )
        return model


@dataclass(frozen=True, slots=True)
class Topic:
    """The probability that the documents cover one question; ``usual`` is the limit of ``auto``."""

    evidence: TopicEvidence
    probability: float
    usual: float

    def limit(self, refuse: Refuse) -> float | None:
        """The least probability that a recipe asks for, None for none."""
        if refuse == "off":
            return None
        return self.usual if refuse == "auto" else refuse

    def refused(self, refuse: Refuse) -> bool:
        """Whether a recipe refuses the question."""
        limit = self.limit(refuse)
        return limit is not None and self.probability < limit


@cache
def _shipped_models() -> Mapping[str, TopicModel]:
    table = json.loads(_SHIPPED.read_text("utf-8"))
    return {name: TopicModel.from_dict(row) for name, row in table.items()}


def shipped(embedder: str) -> TopicModel | None:
    """The model that was taught for an embedder, by its name in recipes; None where none was.

    Cosines of different embedders are not comparable: weights of one say nothing for another.
    """
    return _shipped_models().get(embedder)


def write_shipped(models: Mapping[str, TopicModel]) -> None:
    """Replace the shipped models, by embedder."""
    table = {name: model.to_dict() for name, model in models.items()}
    _SHIPPED.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
