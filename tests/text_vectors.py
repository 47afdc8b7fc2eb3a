"""Vectors of texts without a model."""

from collections.abc import Sequence

import numpy as np

from rag.storage.vectors import text_hash
from rag.types import Vectors


def text_vectors(texts: Sequence[str]) -> Vectors:
    """Unit vectors that depend on the text alone."""
    seeds = (int.from_bytes(text_hash(text)[:8]) for text in texts)
    rows = np.stack([np.random.default_rng(seed).normal(size=8) for seed in seeds])
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
