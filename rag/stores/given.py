"""Keys and vectors as a caller gives them: checked, and each key once."""

from __future__ import annotations

import numpy as np

from rag.errors import InvalidInput
from rag.types import Integers, Keys, Vectors


def check_vectors(keys: Keys, vectors: Vectors, dimension: int) -> tuple[Keys, Vectors, Integers]:
    """Keys (n,), vectors (n, dimension) and the rows that count: of a key given twice the later.

    Raises InvalidInput for vectors of another dimension or number.
    """
    names = np.asarray(keys, dtype=np.int64)
    if len(names) != len(vectors):
        raise InvalidInput(f"{len(names)} passages came with {len(vectors)} vectors.")
    rows = np.asarray(vectors, dtype=np.float32)
    if len(names):
        rows = rows.reshape(len(names), -1)
        check_dimension(rows.shape[1], dimension)
    _, last = np.unique(names[::-1], return_index=True)
    return names, rows, np.sort(len(names) - 1 - last)


def check_dimension(actual: int, expected: int) -> None:
    """Raise InvalidInput for a vector of another length."""
    if actual != expected:
        raise InvalidInput(
            f"A vector has {actual} dimensions, the index has {expected}: "
            "the embedding model is another one than the index was built with.",
            "Rebuild the index with the present embedding model, or go back to the former one.",
        )
