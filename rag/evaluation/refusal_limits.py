"""The limit of refusal that labels ask for, and what it is worth on questions it never saw."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rag.recipe import Refuse
from rag.types import Floats, Mask, percent

FEWEST_FOR_REFUSAL = 20
"""Answerable questions that it takes to choose a limit."""
_FOLDS = 5


@dataclass(frozen=True, slots=True)
class RefusedShares:
    """The shares of questions that are refused; None where there are none of the kind."""

    answerable: float | None
    unanswerable: float | None

    @property
    def sentence(self) -> str:
        """In plain English."""
        named = {"answerable": self.answerable, "unanswerable": self.unanswerable}
        parts = [
            f"{percent(share)} of {name} questions"
            for name, share in named.items()
            if share is not None
        ]
        return f"refuses {' and '.join(parts)}"


@dataclass(frozen=True, slots=True)
class RefusalLimit:
    """The greatest limit that refuses at most ``cost`` of the answerable questions.

    It is rounded down to four decimals. ``in_sample`` is what it does to the questions that chose
    it. ``expected`` is cross-validated: each question is refused, or not, by a limit that was
    chosen without it.
    """

    cost: float
    limit: float
    in_sample: RefusedShares
    expected: RefusedShares

    def better_than(self, now: RefusedShares) -> bool:
        """Return whether the questions that chose it gain something that ``now`` does not give.

        That is one unanswerable question more that is refused, or one answerable one less.
        """
        new = self.in_sample
        return (new.unanswerable or 0.0) > (now.unanswerable or 0.0) or (new.answerable or 0.0) < (
            now.answerable or 0.0
        )

    @property
    def sentence(self) -> str:
        """Both shares, each with what it is of, in plain English."""
        return (
            f"{self.in_sample.sentence} that it was chosen on; on other questions "
            f"(cross-validated), it {self.expected.sentence}"
        )


@dataclass(frozen=True, slots=True)
class TopicProbabilities:
    """Probabilities that questions are on topic: ``values`` and ``answerable`` (questions,).

    ``usual`` is the limit of ``auto``. Questions without an answer are mostly on the topic of the
    documents all the same.
    """

    values: Floats
    answerable: Mask
    usual: float

    @property
    def can_choose(self) -> bool:
        """Whether there are enough answerable questions to choose a limit by."""
        return int(np.count_nonzero(self.answerable)) >= FEWEST_FOR_REFUSAL

    def limit(self, refuse: Refuse) -> float | None:
        """Return the limit of a recipe setting as a number; None for no limit."""
        if refuse == "off":
            return None
        return self.usual if refuse == "auto" else refuse

    def refused(self, limit: float | None) -> RefusedShares:
        """Return the shares of questions that a limit refuses; None refuses nothing."""
        return _shares(self.values < (-math.inf if limit is None else limit), self.answerable)

    def chosen(self, cost: float) -> RefusalLimit | None:
        """The limit for a cost; None with fewer answerable questions than it takes."""
        if not self.can_choose:
            return None
        refused = np.zeros(len(self.values), np.bool_)
        # Five parts of the questions, with as many answerable ones in each
        order = np.random.default_rng(0).permutation(len(self.values))
        order = order[np.argsort(self.answerable[order], kind="stable")]
        part = np.empty(len(order), np.int64)
        part[order] = np.arange(len(order)) % _FOLDS
        for fold in [part == number for number in range(_FOLDS)]:
            rest = self.values[~fold & self.answerable]
            refused[fold] = self.values[fold] < _limit(rest, cost)
        expected = _shares(refused, self.answerable)
        limit = math.floor(_limit(self.values[self.answerable], cost) * 10_000) / 10_000
        return RefusalLimit(cost, limit, self.refused(limit), expected)


def _limit(answerable: Floats, cost: float) -> float:
    ordered = np.sort(answerable)
    return float(ordered[min(int(cost * len(ordered)), len(ordered) - 1)])


def _shares(refused: Mask, answerable: Mask) -> RefusedShares:
    kinds = (refused[answerable], refused[~answerable])
    return RefusedShares(*(float(kind.mean()) if len(kind) else None for kind in kinds))
