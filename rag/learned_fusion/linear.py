"""A linear model of relevance, fitted so that relevant candidates stand above the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rag.learned_fusion.features import FEATURES
from rag.types import Floats, Integers

SIMPLE = ("cosine", "bm25")
RANKING = tuple(name for name in FEATURES if name != "question_words")
"""The features that can differ between the candidates of a question."""


@dataclass(frozen=True, slots=True)
class LinearModel:
    """Weights of features by name; those of the others are 0."""

    kind: ClassVar[str] = "linear"
    weights: Mapping[str, float]

    def scores(self, table: Floats) -> Floats:
        """The score of each row of features, shape (n,)."""
        return np.asarray(self.contributions(table).sum(axis=1))

    def contributions(self, table: Floats) -> Floats:
        """The part of each feature in each score, shape (n, features); the parts add up to it."""
        weights = np.array([self.weights.get(name, 0.0) for name in FEATURES])
        return np.asarray(table * weights)

    def to_dict(self) -> dict[str, Any]:
        """The model as JSON-compatible data, without loss."""
        return {"kind": self.kind, "weights": dict(self.weights)}


def fit_linear(
    table: Floats, grades: Integers, owner: Integers, names: Sequence[str], ridge: float
) -> LinearModel:
    """Fit weights by the conditional logit: which candidate of a question is relevant?

    ``table`` has shape (n, features), ``grades`` and ``owner`` (n,); rows of a question, by
    ``owner``, stand together. Relevant candidates share the probability of their question (McFadden
    1973; ListNet's loss, Cao et al., ICML 2007). The ridge is on standardised features.
    """
    from scipy.optimize import minimize

    columns = [list(FEATURES).index(name) for name in names]
    rows = table[:, columns]
    scale = rows.std(axis=0)
    scale = np.where(scale > 0, scale, np.inf)
    standard = (rows - rows.mean(axis=0)) / scale
    starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])
    counts = np.diff(np.r_[starts, len(owner)])
    relevant = (grades > 0).astype(np.float64)
    number = np.add.reduceat(relevant, starts)
    target = relevant / np.repeat(np.maximum(number, 1.0), counts)
    labelled = number > 0
    in_labelled = np.repeat(labelled, counts)

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = standard @ weights
        top = np.maximum.reduceat(logits, starts)
        powers = np.exp(logits - np.repeat(top, counts))
        totals = np.add.reduceat(powers, starts)
        log_likelihood = target @ logits - (np.log(totals) + top)[labelled].sum()
        slope = standard.T @ (powers / np.repeat(totals, counts) * in_labelled - target)
        penalty = ridge * float(weights @ weights) / 2
        return float(penalty - log_likelihood), slope + ridge * weights

    fitted = minimize(loss, np.zeros(len(columns)), jac=True, method="L-BFGS-B").x / scale
    return LinearModel(dict(zip(names, fitted.tolist(), strict=True)))
