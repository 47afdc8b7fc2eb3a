"""Whether stated probabilities come true: proper scores and the points of a reliability plot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rag.evaluation.intervals import Interval, wilson
from rag.types import Floats, Mask, percent

_BINS = 10


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Candidates with probabilities in [low, high): their mean, and how many were relevant."""

    low: float
    high: float
    predicted: float
    observed: float
    interval: Interval
    count: int

    @property
    def agrees(self) -> bool:
        """Whether the mean probability is within the interval of the observed share."""
        return self.interval.low <= self.predicted <= self.interval.high


@dataclass(frozen=True, slots=True)
class Quality:
    """Cross-validated; lower is better. ``base_...`` is what always saying the base rate gives."""

    brier: float
    base_brier: float
    log_loss: float
    base_log_loss: float
    base_rate: float

    @property
    def useful(self) -> bool:
        """Whether it beats the base rate in both scores."""
        return self.brier < self.base_brier and self.log_loss < self.base_log_loss

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        if not self.useful:
            return "It is no better than always predicting the base rate, so do not rely on it."
        return (
            f"Its errors (Brier score) are {percent(1 - self.brier / self.base_brier)} smaller "
            f"than those of always predicting the base rate of {percent(self.base_rate)}."
        )


def quality(predicted: Floats, base: Floats, relevant: Mask) -> Quality:
    """Brier score and log loss (natural) of two predictions of the same events, shape (n,)."""
    return Quality(
        brier=float(((predicted - relevant) ** 2).mean()),
        base_brier=float(((base - relevant) ** 2).mean()),
        log_loss=_log_loss(predicted, relevant),
        base_log_loss=_log_loss(base, relevant),
        base_rate=float(relevant.mean()),
    )


def _log_loss(predicted: Floats, relevant: Mask) -> float:
    right = np.where(relevant, predicted, 1.0 - predicted)
    return float(-np.log(np.maximum(right, 1e-12)).mean())


def reliability(predicted: Floats, relevant: Mask) -> tuple[ReliabilityBin, ...]:
    """Ten bins of equal width, those that hold anything, lowest first."""
    return tuple(_bins(predicted, relevant))


def _bins(predicted: Floats, relevant: Mask) -> Iterator[ReliabilityBin]:
    places = np.minimum((predicted * _BINS).astype(np.intp), _BINS - 1)
    for place in np.unique(places).tolist():
        inside = places == place
        count, hits = int(inside.sum()), int(relevant[inside].sum())
        yield ReliabilityBin(
            low=place / _BINS,
            high=(place + 1) / _BINS,
            predicted=float(predicted[inside].mean()),
            observed=hits / count,
            interval=wilson(hits, count),
            count=count,
        )
