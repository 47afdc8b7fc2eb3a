"""The posterior probability that a measured difference matters.

The Bayesian bootstrap (Rubin, The Annals of Statistics 1981) of paired differences, and a region of
practical equivalence: differences that nobody would act on, with a width that the user sets
(Kruschke, Advances in Methods and Practices in Psychological Science 2018).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np

from rag.types import Floats, percent

EQUIVALENT = 0.01
"""Half the usual width of the region: means closer than this are the same in practice."""
DRAWS = 20_000
FEWEST = 8
"""With fewer groups of questions the draws know too little of what was not seen."""
LEANS = 0.5
"""A probability above which a side reads like a verdict."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Probabilities that a run is better, as good and worse in practice; they add up to 1."""

    better: float
    same: float
    worse: float
    equivalent: float

    @property
    def reads_as_verdict(self) -> bool:
        """Whether one side is so probable that readers take it for decided."""
        return max(self.better, self.worse) > LEANS

    @property
    def sentence(self) -> str:
        """The three, in plain English."""
        width = f"{self.equivalent:g}"
        return (
            f"The probability that the run is better by more than {width} is "
            f"{_share(self.better)}. That the two differ by at most {width}: {_share(self.same)}. "
            f"That it is worse by more: {_share(self.worse)}."
        )


def posterior(
    gains: Mapping[str, float],
    equivalent: float = EQUIVALENT,
    clusters: Mapping[str, Hashable] | None = None,
) -> Posterior | None:
    """From gains by question id, above 0 where the run is ahead; None for too few of them.

    ``clusters`` tells which questions belong together: their weight is drawn as one.
    """
    groups = clusters or {}
    by_group: dict[Hashable, list[float]] = {}
    for question, gain in sorted(gains.items()):
        by_group.setdefault(groups.get(question, ("alone", question)), []).append(gain)
    if len(by_group) < FEWEST:
        return None
    sums = np.array([sum(group) for group in by_group.values()])
    counts = np.array([len(group) for group in by_group.values()], np.float64)
    means = _draws(sums, counts)
    better, worse = float((means > equivalent).mean()), float((means < -equivalent).mean())
    return Posterior(better, max(0.0, 1.0 - better - worse), worse, equivalent)


def _draws(sums: Floats, counts: Floats) -> Floats:
    """Means under weights from a flat Dirichlet distribution over the groups."""
    rng = np.random.default_rng(0)
    batch = max(1, (1 << 21) // len(sums))
    means = []
    for begin in range(0, DRAWS, batch):
        weights = rng.standard_exponential((min(batch, DRAWS - begin), len(sums)))
        means.append(weights @ sums / (weights @ counts))
    return np.concatenate(means)


def _share(probability: float) -> str:
    if probability < 0.005:  # of finitely many draws, none is not never
        return "under 1%"
    if probability >= 0.995:
        return "over 99%"
    return percent(probability)
