"""The probability that a quote answers a question: logistic regression on the evidence."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

_SHIPPED = Path(__file__).with_name("weights.json")


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """Weights by figure of the evidence; below ``limit`` an answer is doubtful.

    ``source`` names the collections that it was fitted on.
    """

    weights: Mapping[str, float]
    intercept: float
    limit: float
    source: str

    def probability(self, figures: Mapping[str, float]) -> float:
        """The probability that the first quote answers the question."""
        logit = self.intercept + sum(
            weight * figures[name] for name, weight in self.weights.items()
        )
        return 0.5 * (1.0 + math.tanh(0.5 * logit))


@cache
def _load_models() -> Mapping[str, AnswerModel]:
    """The models by the beginning of an embedder's id; "" names the one without cosines."""
    table = json.loads(_SHIPPED.read_text("utf-8"))
    return {name: AnswerModel(**row) for name, row in table.items()}


def answer_model(embedder: str) -> AnswerModel:
    """The model for an embedder, by the beginning of its id.

    Cosines of different embedders are not comparable: others get the model that uses none.
    """
    models = _load_models()
    return next((models[name] for name in models if name and embedder.startswith(name)), models[""])


def write_shipped(models: Mapping[str, AnswerModel]) -> None:
    """Replace the shipped models, by embedder."""
    table = {name: asdict(model) for name, model in models.items()}
    _SHIPPED.write_text(json.dumps(table, indent=1) + "\n", encoding="utf-8")
