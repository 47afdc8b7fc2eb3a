"""The probability that a quote answers a question: logistic regression on the evidence."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np

from rag.logistic import fit_logistic

_SHIPPED = Path(__file__).with_name("weights.json")
FAR, CLOSE = 0.3, 0.8
"""The cosines that ``AnswerModel`` explains, of MiniLM."""


@dataclass(frozen=True, slots=True)
class AnswerModel:
    """Weights by figure of the evidence; below ``limit`` an answer is doubtful.

    ``source`` names the collections that it was fitted on. ``far`` and ``close`` are cosines of two
    single words: up to the one they have nothing in common, from the other on they mean the same.
    Those of MiniLM were chosen; as many unrelated words reach those of another embedder.
    """

    weights: Mapping[str, float]
    intercept: float
    limit: float
    source: str
    far: float = FAR
    close: float = CLOSE

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


COSINES = ("dense", "soft")
"""Figures that hold for one embedder only."""
LIMIT = 0.32
"""Below it an answer is doubtful. In the collections an eighth of the right answers are, and more
than four fifths of the questions whose documents were taken out."""
WEIGHT = 300.0
"""Of one collection, however many questions it has."""
_RIDGE = 30.0


@dataclass(frozen=True, slots=True)
class Observation:
    """The evidence for one answer, and whether it was right."""

    collection: str
    figures: Mapping[str, float]
    right: bool


def fitted(observations: Sequence[Observation], *, cosines: bool) -> AnswerModel:
    """Fit a model by the collections, each of which counts alike."""
    names = [name for name in observations[0].figures if cosines or name not in COSINES]
    rows = np.array([[one.figures[name] for name in names] for one in observations])
    target = np.array([float(one.right) for one in observations])
    sizes = Counter(one.collection for one in observations)
    weight = np.array([WEIGHT / sizes[one.collection] for one in observations])
    weights, intercept = fit_logistic(rows, target, weight, _RIDGE)
    named = {name: round(float(value), 5) for name, value in zip(names, weights, strict=True)}
    return AnswerModel(named, round(intercept, 5), LIMIT, f"{len(sizes)} collections")
