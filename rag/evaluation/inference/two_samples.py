"""A two-sample test on vectors: whether two samples are from one distribution.

The energy distance of samples x and y is 2 E|x - y| - E|x - x'| - E|y - y'|. Divided by 2 E|x - y|
it is the coefficient of inhomogeneity, from 0 for the same distribution to 1 (Székely and Rizzo,
Energy statistics, Journal of Statistical Planning and Inference 2013). Its p-value comes from
permutations of the samples.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rag.types import Floats, Vectors

PERMUTATIONS = 4999
_AT_ONCE = 500


class TwoSamples(NamedTuple):
    """The coefficient of inhomogeneity of two samples, and the p-value of its permutation test."""

    distance: float
    p: float


def energy_test(
    one: Vectors, other: Vectors, permutations: int = PERMUTATIONS, seed: int = 0
) -> TwoSamples:
    """Test samples of unit vectors, shapes (n, dimension) and (m, dimension).

    The p-value is (b + 1) / (permutations + 1) for b permutations with at least this distance. An
    empty sample gives 0 with a p-value of 1.
    """
    first, total = len(one), len(one) + len(other)
    if not first or first == total:
        return TwoSamples(0.0, 1.0)
    pooled = np.concatenate([one, other]).astype(np.float64)
    distances = np.sqrt(np.maximum(2.0 - 2.0 * pooled @ pooled.T, 0.0))
    np.fill_diagonal(distances, 0.0)
    sums, everything = distances.sum(axis=1), distances.sum()
    rng = np.random.default_rng(seed)

    def coefficients(members: Floats) -> Floats:
        """The coefficients of divisions, shape (divisions, total), 1 for the first sample."""
        within = np.einsum("ij,ij->i", members @ distances, members)
        across = members @ sums - within
        rest = everything - within - 2.0 * across
        mean = across / (first * (total - first))
        energy = 2.0 * mean - within / first**2 - rest / (total - first) ** 2
        return np.asarray(energy / np.maximum(2.0 * mean, 1e-12))

    observed = float(coefficients((np.arange(total) < first).astype(np.float64)[None])[0])
    at_least = 0
    for start in range(0, permutations, _AT_ONCE):
        count = min(_AT_ONCE, permutations - start)
        orders = rng.permuted(np.tile(np.arange(total), (count, 1)), axis=1)
        drawn = coefficients((orders < first).astype(np.float64))
        at_least += int((drawn >= observed - 1e-12).sum())
    return TwoSamples(max(observed, 0.0), (at_least + 1) / (permutations + 1))
