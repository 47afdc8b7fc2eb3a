"""From vectors to points on a map: principal components, or UMAP where it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput
from rag.types import Keys, Vectors

Method = Literal["pca", "umap"]
Points = npt.NDArray[np.float32]
"""Places on a map, shape (n, 2)."""

NEIGHBOURS = 5  # that say where a newcomer stands on a map that knows no formula
_BLOCK = 8192
_SEED = 7
_FEWEST = 10  # passages that UMAP needs to find neighbours among

UMAP_HINT = "Run: pip install -r requirements-umap.txt"

ProgressCallback = Callable[[int, int, str], None]


@dataclass(frozen=True, eq=False, slots=True)
class Projection:
    """Passages as points. ``axes`` (2, dimension) and ``mean`` (dimension,) place others alike.

    ``explained`` is the share of the vectors' variance that the map shows. UMAP has neither: its
    ``axes`` are empty and ``explained`` is 0.
    """

    method: Method
    keys: Keys
    points: Points
    mean: npt.NDArray[np.float32]
    axes: npt.NDArray[np.float32]
    explained: float

    def place(self, vectors: Vectors) -> Points:
        """Places of further vectors (n, dimension) by the formula. Only for "pca"."""
        return ((vectors - self.mean) @ self.axes.T).astype(np.float32)


def methods() -> tuple[Method, ...]:
    """The methods that this installation can compute."""
    return ("pca", "umap") if importlib.util.find_spec("umap") else ("pca",)


def project(
    method: Method, keys: Keys, vectors: Callable[[Keys], Vectors], on_progress: ProgressCallback
) -> Projection:
    """Compute a map; ``vectors(keys)`` reads the vectors of some passages.

    Raises InvalidInput without passages, or for UMAP where it is not installed or has too few,
    and what ``on_progress`` raises.
    """
    if not len(keys):
        raise InvalidInput("There are no passages to draw.", "Add documents first.")
    return (
        _by_umap(keys, vectors, on_progress)
        if method == "umap"
        else _by_components(keys, vectors, on_progress)
    )


def _by_components(
    keys: Keys, vectors: Callable[[Keys], Vectors], on_progress: ProgressCallback
) -> Projection:
    """Principal components (Pearson 1901) by the covariance, which is small however many rows."""
    total, count = 2 * len(keys), 0
    dimension = vectors(keys[:1]).shape[1]
    sums, products = np.zeros(dimension), np.zeros((dimension, dimension))
    for first in range(0, len(keys), _BLOCK):
        block = vectors(keys[first : first + _BLOCK]).astype(np.float64)
        sums += block.sum(axis=0)
        products += block.T @ block
        count += len(block)
        on_progress(count, total, f"{count:,} of {len(keys):,} passages read")
    mean = sums / len(keys)
    values, columns = np.linalg.eigh(products / len(keys) - np.outer(mean, mean))
    values = np.maximum(values, 0.0)
    axes = columns[:, [-1, -2]].T if dimension > 1 else np.array([[1.0], [0.0]])
    # An axis has no direction of its own; the same one every time keeps a map as it was.
    axes = axes * np.where(axes[np.arange(2), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    shared = values[-2:].sum() / values.sum() if values.sum() > 0 else 0.0
    nowhere = np.empty((0, 2), np.float32)
    single = mean.astype(np.float32), axes.astype(np.float32)
    drawn = Projection("pca", keys, nowhere, *single, float(shared))
    parts = []
    for first in range(0, len(keys), _BLOCK):
        parts.append(drawn.place(vectors(keys[first : first + _BLOCK])))
        count += len(parts[-1])
        on_progress(count, total, f"{count - len(keys):,} of {len(keys):,} passages placed")
    return replace(drawn, points=np.concatenate(parts))


def _by_umap(
    keys: Keys, vectors: Callable[[Keys], Vectors], on_progress: ProgressCallback
) -> Projection:
    """UMAP (McInnes, Healy and Melville 2018) by its own library, with a fixed seed."""
    if len(keys) < _FEWEST:
        raise InvalidInput(f"UMAP needs {_FEWEST} passages or more.", "Use the PCA map.")
    try:
        import umap
    except ImportError as error:
        raise InvalidInput("UMAP is not installed.", UMAP_HINT) from error
    on_progress(0, 1, f"UMAP places {len(keys):,} passages; it cannot be stopped midway")
    maker = umap.UMAP(
        n_neighbors=min(15, len(keys) - 1), metric="cosine", random_state=_SEED, n_jobs=1
    )
    points = np.asarray(maker.fit_transform(vectors(keys)), np.float32)
    on_progress(1, 1, f"{len(keys):,} passages placed")
    nothing = np.empty(0, np.float32)
    return Projection("umap", keys, points, nothing, nothing.reshape(0, 0), 0.0)


def among(points: Points, cosines: npt.NDArray[np.float32]) -> Points:
    """A place among others: the mean of the nearest ones' by cosine (n,), shape (1, 2)."""
    nearest = np.argsort(-cosines, kind="stable")[:NEIGHBOURS]
    weights = np.maximum(cosines[nearest], 1e-6)
    return np.average(points[nearest], axis=0, weights=weights).astype(np.float32)[None, :]
