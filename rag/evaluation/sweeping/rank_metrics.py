"""Metrics from the ranks of what is relevant, without the rankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rag.evaluation.metrics import Ranked, evaluate
from rag.types import Floats, Integers, Ranks

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Labelled:
    """The questions that have something to find: their rows, and all that is relevant to them.

    ``number`` (questions,) is the place among them, or -1; ``ideal`` and ``relevant`` are those of
    ``metrics.Ranked``.
    """

    number: Integers
    best: Ranked

    @classmethod
    def of(cls, ideals: Sequence[Sequence[int]]) -> Labelled:
        """From the grades of all that is relevant to each question, best first."""
        rows = [grades for grades in ideals if grades]
        has = np.array([bool(grades) for grades in ideals], dtype=np.bool_)
        number = np.where(has, np.cumsum(has) - 1, -1)
        return cls(number, Ranked.of([()] * len(rows), rows, depth=0))

    def __len__(self) -> int:
        """Number of such questions."""
        return len(self.best.relevant)


class Units(NamedTuple):
    """The relevant units that can be retrieved, shape (units,).

    Each unit has the number of its question among the ``Labelled``, its own number there, and its
    grade.
    """

    questions: Integers
    slots: Integers
    grades: Integers

    def chosen(self, places: Integers, questions: Integers) -> Units:
        """Some of them, by place; questions are numbered by where they stand in ``questions``."""
        numbers = np.searchsorted(questions, self.questions[places])
        return Units(numbers, self.slots[places], self.grades[places])


class RankMetrics:
    """A ``metrics.Standing`` of many recipes: figures have shape (recipes, questions).

    ``ranks`` (recipes, units) count from 0; ``depth`` stands for what was not retrieved. Sums run
    over the relevant in the order of their ranks. What stands between them would add zeros, so they
    are bit by bit those over whole rankings.
    """

    def __init__(self, ranks: Ranks, depth: int, units: Units, best: Ranked) -> None:
        self._grades, kinds = np.unique(units.grades, return_inverse=True)
        self._depth = depth
        self._best = best
        kinds_of = max(len(self._grades), 1)
        shape = int(units.slots.max(initial=-1)) + 1, len(ranks), len(best.relevant)
        codes = np.full(shape, depth * kinds_of, np.int32)
        coded = np.minimum(ranks * kinds_of + kinds, depth * kinds_of)
        codes[units.slots[:, None], np.arange(len(ranks)), units.questions[:, None]] = coded.T
        self._codes: Codes = np.sort(codes, axis=0) if len(codes) > 1 else codes
        self._kinds = kinds_of
        self._relevant_hits: dict[int, Floats] = {}

    @property
    def relevant(self) -> Floats:
        """Number of relevant passages, shape (questions,)."""
        return self._best.relevant

    @cached_property
    def first(self) -> Floats:
        """Rank of the first relevant hit, infinite without one."""
        if not len(self._codes):
            return np.full(self._codes.shape[1:], np.inf)
        ranks = np.append(np.repeat(np.arange(1.0, self._depth + 1), self._kinds), np.inf)
        first: Floats = ranks[self._codes[0]]
        return first

    def relevant_hits(self, k: int) -> Floats:
        """Relevant hits among the first k."""
        if k not in self._relevant_hits:
            inside = self._codes < k * self._kinds
            self._relevant_hits[k] = np.add.reduce(inside, axis=0, dtype=np.float64)
        return self._relevant_hits[k]

    def discounted(self, k: int) -> Floats:
        """DCG of the first k; the gain is looked up by rank and grade."""
        discounts = np.log2(np.arange(2, self._depth + 2))
        gains = (self._grades / discounts[:, None]).ravel()
        return self._summed(gains[None], k)

    def summed_precision(self, k: int) -> Floats:
        """Sum of the precisions at the ranks of the relevant hits among the first k."""
        ranks = np.repeat(np.arange(1.0, self._depth + 1), self._kinds)
        return self._summed(np.arange(1, len(self._codes) + 1)[:, None] / ranks, k)

    def ideal_discounted(self, k: int) -> Floats:
        """The best possible DCG of k hits, shape (questions,)."""
        return self._best.ideal_discounted(k)

    def _summed(self, values: Floats, k: int) -> Floats:
        """Sum of ``values`` (slots or 1, codes) over the relevant among the first k, in order."""
        if not len(self._codes):
            return np.zeros(self._codes.shape[1:])
        table = np.zeros((len(values), self._depth * self._kinds + 1))
        table[:, : k * self._kinds] = values[:, : k * self._kinds]
        total: Floats = table[0][self._codes[0]]
        for slot, codes in enumerate(self._codes[1:], start=1):
            total += table[min(slot, len(table) - 1)][codes]
        return total


class Means:
    """Metrics from the ranks of the ``units`` that any recipe finds.

    Of most questions only one relevant thing is among the candidates, and then a metric is a
    function of its rank: it is computed for every rank once, and looked up for every recipe.
    """

    def __init__(
        self,
        metrics: Sequence[str],
        depth: int,
        units: Units,
        labelled: Labelled,
        apart: str | None = None,
    ) -> None:
        self._metrics = metrics
        self._apart = apart
        self._depth = depth
        self._width = len(labelled)
        self._first = np.flatnonzero(units.slots == 0)
        self._questions = units.questions[self._first]
        alone = np.where(units.slots == 0, np.arange(depth + 1)[:, None], depth).astype(np.int32)
        tables = evaluate(RankMetrics(alone, depth, units, labelled.best), metrics)
        self._tables = [table.ravel() for table in tables.values()]
        self._crowded = np.unique(units.questions[units.slots > 0])
        self._theirs = np.flatnonzero(np.isin(units.questions, self._crowded))
        self._units = units.chosen(self._theirs, self._crowded)
        ideal, relevant = labelled.best.ideal, labelled.best.relevant
        self._best = Ranked(
            np.zeros((len(self._crowded), 0)), ideal[self._crowded], relevant[self._crowded]
        )

    def of(self, ranks: Ranks) -> Floats:
        """From ranks (recipes, units) to means, shape (recipes, metrics).

        After them the figures of the metric ``apart``, one for each labelled question.
        """
        first = np.full((len(ranks), self._width), self._depth, np.int64)
        first[:, self._questions] = ranks[:, self._first]
        first *= self._width
        first += np.arange(self._width)
        crowded = RankMetrics(ranks[:, self._theirs], self._depth, self._units, self._best)
        others = evaluate(crowded, self._metrics)
        means = np.empty((len(ranks), len(self._metrics)))
        by_question = np.empty((len(ranks), 0))
        for number, (table, other) in enumerate(zip(self._tables, others.values(), strict=True)):
            values = table[first]
            values[:, self._crowded] = other
            means[:, number] = values.mean(axis=-1)
            if self._metrics[number] == self._apart:
                by_question = values
        return np.concatenate([means, by_question], axis=1)
