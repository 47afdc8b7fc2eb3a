"""Distribution-free confidence bounds for the mean of values that have a worst value.

The bound is Gaffke's: one unseen value, the worst possible one, joins the sample, and all values
are weighted as in the Bayesian bootstrap (Learned-Miller and Thomas, A New Confidence Interval for
the Mean of a Bounded Random Variable, arXiv:1905.06208). For rates it is the interval of Clopper
and Pearson. Its coverage for every distribution is a conjecture without a known counterexample.

The weighted mean of values x is at most m if a sum of exponential variables, each times its x - m,
is at most 0. The probability of this event comes from the formula of Lugannani and Rice (Saddle
Point Approximation for the Distribution of the Sum of Independent Random Variables, Advances in
Applied Probability 1980). Therefore nothing is sampled and the order of the values does not matter.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rag.types import Floats

_STEPS = 40  # halvings
_EDGE = 1.0 - 1e-12
_CONSTANT = 1e-12


def lower_bounds(rows: Floats, worst: float | Floats, miss: float) -> Floats:
    """Return lower confidence bounds of means, shape (rows, n) to (rows,).

    ``miss`` is the error probability of a bound. ``worst`` is the worst possible next value: one
    value, or one per row. To get upper bounds, negate the values and the result.
    """
    values = _with(rows, worst)
    bounds = np.asarray(values.min(axis=1), np.float64)
    vary = np.ptp(values, axis=1) > _CONSTANT
    if not vary.any():
        return bounds
    centred = values[vary]
    centre = centred.mean(axis=1, keepdims=True)
    centred = centred - centre
    low, high = _range(centred)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        mean, probability = _tilted(centred, middle)
        less = probability < miss
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    bounds[vary] = mean + centre[:, 0]
    return bounds


def tails(rows: Floats, worst: float | Floats) -> Floats:
    """Return the probability that the weighted mean is at most 0, by row.

    It is the error probability at which ``lower_bounds`` are 0.
    """
    values = _with(rows, worst)
    p_values: Floats = np.where(values.max(axis=1) > 0, 0.0, 1.0)
    both = (values.max(axis=1) > 0) & (values.min(axis=1) < 0)
    if both.any():
        values = values[both]
        low, high = _range(values)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            short = (values / (1.0 - middle[:, None] * values)).sum(axis=1) < 0
            low, high = np.where(short, middle, low), np.where(short, high, middle)
        p_values[both] = _probability(values, middle)
    return p_values


def _with(rows: Floats, worst: float | Floats) -> Floats:
    # Sorted, so that sums round alike in whatever order figures came.
    last = np.broadcast_to(np.asarray(worst, np.float64), len(rows))
    extended = np.concatenate([rows, last[:, None]], axis=1)
    return np.sort(extended, axis=1)


def _range(values: Floats) -> tuple[Floats, Floats]:
    """Between which tilts every weight is above 0, of rows with figures on both sides of 0."""
    return _EDGE / values.min(axis=1), _EDGE / values.max(axis=1)


def _tilted(values: Floats, tilt: Floats) -> tuple[Floats, Floats]:
    """The mean that a tilt is the saddle point of, and how likely no more than it is."""
    weights = 1.0 / (1.0 - tilt[:, None] * values)
    mean = (values * weights).sum(axis=1) / weights.sum(axis=1)
    return mean, _probability(values - mean[:, None], tilt / (1.0 - tilt * mean))


def _probability(values: Floats, saddle: Floats) -> Floats:
    """Return the probability that exponential variables times ``values`` sum to at most 0."""
    from scipy.special import ndtr

    tilted = 1.0 - saddle[:, None] * values
    distance = np.sqrt(np.maximum(2.0 * np.log(tilted).sum(axis=1), 0.0))
    signed: npt.NDArray[np.float64] = np.sign(saddle) * distance
    spread = saddle * np.sqrt(((values / tilted) ** 2).sum(axis=1))
    near = np.abs(signed) < 1e-4
    with np.errstate(divide="ignore", invalid="ignore"):
        correction = np.exp(-(signed**2) / 2.0) / np.sqrt(2.0 * np.pi) * (1 / signed - 1 / spread)
        return np.asarray(np.where(near, 0.5, np.clip(ndtr(signed) + correction, 0.0, 1.0)))
