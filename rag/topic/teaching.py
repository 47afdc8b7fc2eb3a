"""Teaching a model of refusal: logistic regression with a ridge, on a few features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.topic.evidence import TopicEvidence
from rag.topic.model import TopicModel
from rag.types import Floats

FEATURES = ("beyond_chance", "lead", "joint_beyond_chance", "share")
"""What shipped models weigh. Of ``unknown`` they make nothing: a paraphrase holds many words that
no passage has, and a model that goes by them refuses it."""
_RIDGE = 1.0


def taught(
    spoken_of: Sequence[tuple[TopicEvidence, float]],
    foreign: Sequence[tuple[TopicEvidence, float]],
    features: Sequence[str],
    limit: float,
    source: str,
) -> TopicModel:
    """Fits on on-topic questions and on others, each with its weight."""
    from scipy.optimize import minimize

    pairs = [*spoken_of, *foreign]
    rows = np.array([[getattr(evidence, name) for name in features] for evidence, _ in pairs])
    weight = np.array([weight for _, weight in pairs])
    target = np.repeat([1.0, 0.0], [len(spoken_of), len(foreign)])
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(scale > 0, scale, np.inf)  # what does not vary gets no weight
    standard = np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
    ridge = np.append(np.full(len(features), _RIDGE), 0.0)

    def loss(weights: Floats) -> tuple[float, Floats]:
        logits = standard @ weights
        total = weight @ (np.logaddexp(0.0, logits) - logits * target)
        slope = standard.T @ (weight * (0.5 * (1.0 + np.tanh(0.5 * logits)) - target))
        return float(total + (ridge * weights**2).sum() / 2), slope + ridge * weights

    fit = minimize(loss, np.zeros(standard.shape[1]), jac=True, method="L-BFGS-B").x
    weights = fit[:-1] / scale
    named = {name: round(float(weight), 6) for name, weight in zip(features, weights, strict=True)}
    return TopicModel(named, round(float(fit[-1] - weights @ mean), 6), limit, source)
