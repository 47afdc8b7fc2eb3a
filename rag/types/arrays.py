"""Arrays of numbers, and other aliases."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.int64]
"""Passage keys, shape (n,). A key is derived from content, so it is the same on every machine."""
Vectors = npt.NDArray[np.float32]
"""Embeddings, shape (n, dimension), every row of Euclidean length 1."""
Scores = npt.NDArray[np.float64]
"""Scores aligned with some ``Keys``, shape (n,). Higher is better, always."""
Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Order = npt.NDArray[np.intp]
"""Positions in other arrays, shape (n,), best first."""
Ranks = npt.NDArray[np.int32]
Span = tuple[int, int]
"""Start and end of a stretch of text."""
ProgressCallback = Callable[[int, int], None]
"""Hears of progress: (done, total)."""
