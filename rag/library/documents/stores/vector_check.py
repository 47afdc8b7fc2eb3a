"""Comparison of stored vectors with those that an embedder makes of their texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.evaluation.intervals import rate_interval
from rag.protocols import Embedder
from rag.types import Vectors

SAME_MODEL = 0.98
"""The cosine of a stored vector and that of its text from which on one model made both.

Rounding, batches and other processors move a vector by less than 0.001.
"""


@dataclass(frozen=True, slots=True)
class SampledText:
    """A text whose stored vector is checked, with the names of its passage and document."""

    passage: str
    document: str
    text: str


@dataclass(frozen=True, slots=True)
class ForeignVector:
    """A stored vector that the embedder of its index did not make; ``cosine`` is to its text's."""

    passage: str
    document: str
    cosine: float


@dataclass(frozen=True, slots=True)
class VectorCheck:
    """A random sample of stored vectors, compared with those of their texts, lowest cosine first.

    ``share`` is the interval (95 %) of the share of foreign vectors in the index. ``median`` is
    that of the cosines of the sample, 1 without any.
    """

    sampled: int
    foreign: tuple[ForeignVector, ...]
    share: tuple[float, float]
    median: float = 1.0


def check_vectors(embedder: Embedder, texts: Sequence[SampledText], stored: Vectors) -> VectorCheck:
    """Embed texts again; ``stored`` are their unit vectors. Raises ProviderError.

    A vector with a cosine below ``SAME_MODEL`` is of another model, another version of the model,
    or another text.
    """
    if not texts:
        return VectorCheck(0, (), (0.0, 1.0))
    fresh = embedder.embed([item.text for item in texts], "document")
    if fresh.shape != stored.shape:
        cosines = np.zeros(len(texts))
    else:
        cosines = np.einsum("ij,ij->i", stored, fresh, dtype=np.float64)
    foreign = [
        ForeignVector(item.passage, item.document, float(cosine))
        for item, cosine in zip(texts, cosines, strict=True)
        if cosine < SAME_MODEL
    ]
    low, high = rate_interval(len(foreign), len(texts))
    return VectorCheck(
        len(texts),
        tuple(sorted(foreign, key=lambda item: item.cosine)),
        (low, high),
        float(np.median(cosines)),
    )
