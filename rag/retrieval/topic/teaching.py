"""Teaching a model of refusal: logistic regression with a ridge, on a few features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.logistic import fit_logistic
from rag.retrieval.topic.evidence import TopicEvidence
from rag.retrieval.topic.model import TopicModel

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
    pairs = [*spoken_of, *foreign]
    rows = np.array([[getattr(evidence, name) for name in features] for evidence, _ in pairs])
    weight = np.array([weight for _, weight in pairs])
    target = np.repeat([1.0, 0.0], [len(spoken_of), len(foreign)])
    weights, intercept = fit_logistic(rows, target, weight, _RIDGE)
    named = {name: round(float(weight), 6) for name, weight in zip(features, weights, strict=True)}
    return TopicModel(named, round(intercept, 6), limit, source)
