"""Whether a question is on topic: one decision, apart from any ranking.

A threshold asks every passage; this asks once for a question. What it looks at depends on the
documents, the embedder and the question alone, not on how a recipe ranks: so a question has one
probability in every mode, at every depth, in a search as in a sweep. The probability comes from a
few features by logistic regression with a ridge.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from rag.errors import InvalidInput
from rag.lexical import (
    IDF_MASS,
    LexicalIndex,
    inverse_document_frequency,
    term_weights,
    word_shares,
)
from rag.logistic import fit_logistic
from rag.protocols import VectorView
from rag.recipe import Refuse
from rag.types import Keys, Vectors, percent

PROBED = 10
"""Passages that are looked at: the nearest, and those that hold most of the question's words."""
DENSE_SHARE = 0.6
"""Of the figure that makes a passage the best in both; the rest is the share of the words."""
CHANCE = 0.075
"""What the nearest passage gains by chance: so much for each sqrt(2 ln n) of n passages, as the
greatest of n normal deviates does. It is about the spread of the cosines of a question."""


@dataclass(frozen=True, slots=True)
class TopicEvidence:
    """The evidence that the documents cover a question.

    ``cosine`` is the cosine of the nearest passage, ``lead`` its lead over the tenth. Shares are
    idf-weighted shares of the question's words, in [0, 1]: ``share`` is the greatest share in one
    passage, ``unknown`` the share in no passage. ``joint_cosine`` and ``joint_share`` are values of
    the passage that is best in both together. ``passages`` is the number of passages.
    """

    cosine: float
    lead: float
    share: float
    unknown: float
    joint_cosine: float
    joint_share: float
    passages: int = 1

    @property
    def beyond_chance(self) -> float:
        """The cosine less what the nearest of so many passages has by chance."""
        return self.cosine - self._by_chance

    @property
    def joint_beyond_chance(self) -> float:
        """The same of ``joint_cosine``."""
        return self.joint_cosine - self._by_chance

    @property
    def _by_chance(self) -> float:
        return CHANCE * math.sqrt(2 * math.log(max(self.passages, 1)))

    @property
    def words(self) -> str:
        """The evidence in one clause."""
        return (
            f"nearest cosine {self.cosine:.2f}, {self.lead:.2f} ahead of the tenth; the passage "
            f"that fits best has cosine {self.joint_cosine:.2f} and {percent(self.joint_share)} "
            "of the weight of the question's words"
        )


def topic_evidence(
    words: str,
    vector: Vectors,
    dense: VectorView,
    lexical: LexicalIndex,
    passages: int,
    allowed: Keys | None = None,
) -> TopicEvidence | None:
    """Look a question up in both indexes; None where there is nothing to be found.

    ``words`` is its text as BM25 reads it, ``vector`` (dimension,) its unit vector; ``passages``
    is the number of those that words are counted in, ``allowed`` restricts what is looked at.
    """
    near, _ = dense.search(vector, PROBED, allowed)
    if not len(near):
        return None
    idf = term_weights(words, lexical, passages)
    holders, _ = lexical.search(dict.fromkeys(idf, 1.0), PROBED, allowed=allowed, **IDF_MASS)
    keys = np.union1d(near, holders)
    shares = word_shares(idf, keys, lexical)
    # Row by row in double precision: the same passage has the same figure in every company.
    close = (dense.vectors(keys).astype(np.float64) * vector.astype(np.float64)).sum(axis=1)
    best = int(np.argmax(DENSE_SHARE * close + (1 - DENSE_SHARE) * shares))
    nearest = np.sort(close)[::-1][: len(near)]
    of_none, mass = inverse_document_frequency(0, passages), sum(idf.values()) or 1.0
    return TopicEvidence(
        cosine=float(nearest[0]),
        lead=float(nearest[0] - nearest[-1]),
        share=float(shares.max()),
        unknown=sum(weight for weight in idf.values() if weight == of_none) / mass,
        joint_cosine=float(close[best]),
        joint_share=float(shares[best]),
        passages=passages if allowed is None else len(allowed),
    )


_SHIPPED = Path(__file__).with_name("topic.json")


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
