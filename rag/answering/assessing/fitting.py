"""Fitting the model of answers: logistic regression with a ridge; collections count alike."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rag.answering.assessing.model import AnswerModel
from rag.logistic import fit_logistic

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
