"""Means of many metrics over the questions, for many recipes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rag.evaluation.metrics import Ranked, evaluate
from rag.evaluation.sweeping.pool import Floats, Ranks
from rag.evaluation.sweeping.rank_metrics import Labelled, RankMetrics, Units


class Means:
    """Metrics from the ranks of the ``units`` that any recipe finds.

    Of most questions only one relevant thing is among the candidates, and then a metric is a
    function of its rank: it is computed for every rank once, and looked up for every recipe.
    """

    def __init__(
        self, metrics: Sequence[str], depth: int, units: Units, labelled: Labelled
    ) -> None:
        self._metrics = metrics
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
        """From ranks (recipes, units) to means, shape (recipes, metrics)."""
        first = np.full((len(ranks), self._width), self._depth, np.int64)
        first[:, self._questions] = ranks[:, self._first]
        first *= self._width
        first += np.arange(self._width)
        crowded = RankMetrics(ranks[:, self._theirs], self._depth, self._units, self._best)
        others = evaluate(crowded, self._metrics)
        means = np.empty((len(ranks), len(self._metrics)))
        for number, (table, other) in enumerate(zip(self._tables, others.values(), strict=True)):
            values = table[first]
            values[:, self._crowded] = other
            means[:, number] = values.mean(axis=-1)
        return means
