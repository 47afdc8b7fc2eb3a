"""Arithmetic that every embedder needs."""

import numpy as np

from rag.types import Vectors


def unit_rows(vectors: Vectors) -> Vectors:
    """Rows scaled to length 1, shape and dtype kept.

    A row without direction (a text without any known token) becomes the first axis, so that it is
    a valid unit vector, the same every time, and never NaN.
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    units[lengths[:, 0] == 0, :1] = 1
    return units
