"""Fitting the model of answers: logistic regression with a ridge; collections count alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.answering.assessing.model import AnswerModel
from rag.types import Floats

COSINES = ("dense", "soft")
"""Figures that hold for one embedder only."""
LIMIT = 0.25
"""Below it an answer is doubtful. In the collections a tenth of the right answers are, and more
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
    from scipy.optimize import minimize

    names = [name for name in observations[0].figures if cosines or name not in COSINES]
    rows = np.array([[one.figures[name] for name in names] for one in observations])
    target = np.array([float(one.right) for one in observations])
    sizes = Counter(one.collection for one in observations)
    weight = np.array([WEIGHT / sizes[one.collection] for one in observations])
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 0, scale, np.inf)  # what does not vary gets no weight
    standard = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
    ridge = np.append(np.full(len(names), _RIDGE), 0.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = standard @ weights
        total = weight @ (np.logaddexp(0.0, logits) - logits * target)
        slope = standard.T @ (weight * (0.5 * (1.0 + np.tanh(0.5 * logits)) - target))
        return float(total + (ridge * weights**2).sum() / 2), slope + ridge * weights

    fit = minimize(loss, np.zeros(standard.shape[1]), jac=True, method="L-BFGS-B").x
    weights = fit[:-1] / scale
    named = {name: round(float(value), 5) for name, value in zip(names, weights, strict=True)}
    intercept = round(float(fit[-1] - weights @ mean), 5)
    return AnswerModel(named, intercept, LIMIT, f"{len(sizes)} collections")
