"""The map's other projection, with the package that makes it."""

import numpy as np

from rag.library.maps import project
from rag.types import Vectors


def _around(centre: int, seed: int) -> Vectors:
    """Vectors of 8 dimensions, shape (30, 8), far from the origin along one axis."""
    dice = np.random.default_rng(seed)
    return (dice.normal(size=(30, 8)) + 40 * np.eye(8)[centre]).astype(np.float32)


def test_two_groups_stay_apart(monkeypatch):
    # Compiling takes far longer than what is compiled then takes on so few vectors.
    monkeypatch.setattr("numba.config.DISABLE_JIT", True)
    vectors = np.concatenate([_around(0, 1), _around(1, 2)])
    keys = np.arange(len(vectors))
    points = project("umap", keys, lambda asked: vectors[asked], lambda *_told: None).points
    assert points.shape == (60, 2)
    within = np.linalg.norm(points[:30] - points[:30].mean(axis=0), axis=1).mean()
    assert np.linalg.norm(points[:30].mean(axis=0) - points[30:].mean(axis=0)) > 2 * within
