"""Thousands of recipes from one set of candidates, with the figures of the ordinary pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from rag.evaluation.metrics import parse_metric
from rag.evaluation.sweeping.counting import Counter, Shown
from rag.evaluation.sweeping.layout import Layout
from rag.evaluation.sweeping.pool import Cut, Family, by_family, pool
from rag.evaluation.sweeping.pruning import Leading, Prepared
from rag.evaluation.sweeping.rank_metrics import Labelled, Means, Units
from rag.recipe import SearchRecipe
from rag.types import Floats, Integers, Question, Ranks

CONTEXT = "context_tokens"


Cuts = Callable[[SearchRecipe], Sequence[Cut]]

MANY = 400
"""From so many rankings on it takes less time to leave out what cannot matter, first."""

_LAYING_OUT = 40  # rankings of one family are done while another family is laid out

_BATCH = 64  # recipes whose metrics are computed together: what fits the processor's cache


@dataclass(frozen=True)
class Arithmetic:
    """Means of metrics over the questions of a set, for recipes of one build.

    ``ideals`` has the grades of all that is relevant to each question. Metrics at k look at the
    first k of the ranking above the threshold, however few of them the recipe would show: so
    ``recall@10`` of a recipe tells what its ``top_k`` should be, and one sweep draws the curve
    against k. With ``as_shown`` the ranking is cut at the recipe's ``top_k`` before, which tells
    what users get: from ``k = top_k`` on recall stays, and precision falls.

    ``apart`` names a metric whose figures are wanted question by question too: those of the
    labelled questions come after the means.
    """

    questions: Sequence[Question]
    ideals: Sequence[Sequence[int]]
    metrics: Sequence[str]
    as_shown: bool = False
    apart: str | None = None
    _means: dict[int, tuple[Integers, Means]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def names(self) -> list[str]:
        """Names of the figures of a recipe. Refusals count where something is unanswerable."""
        has = {question.answerable for question in self.questions}
        refusals = ["correct_refusal", *(["false_refusal"] if True in has else [])]
        return [*self.metrics, *(refusals if False in has else [])]

    @cached_property
    def columns(self) -> Integers:
        """The questions whose figures are told ``apart``, by number."""
        has = np.array([bool(grades) for grades in self.ideals], np.bool_)
        return np.flatnonzero(has if self.apart else np.zeros_like(has))

    @cached_property
    def depth(self) -> int:
        """The largest cutoff k of the metrics."""
        return max(parse_metric(name).k for name in self.metrics)

    def means(self, layout: Layout) -> Means:
        """Return the means that layouts with the same units share, cached for the next one."""
        units = layout.unit_rows
        if id(units) not in self._means:
            labelled = Labelled.of(self.ideals)
            units_of_layout = Units(labelled.number[units], layout.unit_slots, layout.unit_grades)
            self._means.clear()
            self._means[id(units)] = (
                units,
                Means(self.metrics, self.depth, units_of_layout, labelled, self.apart),
            )
        return self._means[id(units)][1]

    def figures(
        self,
        prepared: Prepared,
        rankings: Sequence[SearchRecipe],
        cuts: Cuts,
        tokens: Integers | None = None,
        displayed: Sequence[SearchRecipe] | None = None,
    ) -> Floats:
        """Means, shape (rankings, cuts, names and columns).

        ``cuts`` tells how a ranking is cut: as many for every one. ``tokens`` (candidates,) adds,
        as the last of the names, the mean tokens of the passages shown: by the rankings, or by what
        stands for each of them in ``displayed``, where those go deeper than a search.
        """
        deepest = [cut.top_k for cut in cuts(rankings[0])]
        width = len(self.names) + (tokens is not None) + len(self.columns)
        result = np.empty((len(rankings), len(deepest), width))
        families = by_family(rankings)
        weights = [len(by_weight) for by_weight in families.values()]
        many = sum(weights) + _LAYING_OUT * len(weights) >= MANY
        limit = max(deepest) if self.as_shown else self.depth
        matter = prepared.leading(limit, by_unit=not self.as_shown) if many else None
        seen = (
            prepared.leading(max(deepest), by_unit=False) if many and tokens is not None else None
        )
        for by in dict.fromkeys(family.by for family in families):
            means = _Means(self, prepared.layout(by), result)
            for family, by_weight in families.items():
                if family.by == by:
                    means.add(family, matter, cuts(_one_of(rankings, by_weight)), by_weight)
            means.finish()
        if tokens is None:
            return result
        for family, by_weight in by_family(displayed or rankings).items():
            visible = pool(prepared.layout(family.by), family, family.kept(seen))
            in_view = Shown(visible, cuts(_one_of(rankings, by_weight)))
            for weight, numbers in by_weight.items():
                (sums,) = in_view.sums(weight, [tokens])
                result[numbers, :, len(self.names)] = sums.sum(axis=1) / max(len(self.questions), 1)
        return result


class _Means:
    """The metrics and refusals of ``result``, filled in family by family."""

    def __init__(self, of: Arithmetic, layout: Layout, result: Floats) -> None:
        self._of = of
        self._layout = layout
        self._result = result
        self._means = of.means(layout)
        self._waiting: list[tuple[list[int], list[int], Ranks]] = []

    def add(
        self,
        family: Family,
        matter: Leading | None,
        cuts: Sequence[Cut],
        by_weight: Mapping[float, list[int]],
    ) -> None:
        """Ranks with every weight; ``by_weight`` has the numbers of the rankings."""
        laid_out = pool(self._layout, family, family.kept(matter))
        counter = Counter(laid_out, cuts, self._of.depth, as_shown=self._of.as_shown)
        chosen, refusals = counter.rows, self._refused(counter)
        refused = refusals[np.array(chosen) % len(refusals)]
        first = len(self._of.metrics)
        for weight, numbers in by_weight.items():
            counted = counter.ranks(weight)
            ranks = np.full((len(counted), len(self._layout.unit_rows)), self._of.depth, np.int32)
            ranks[:, laid_out.targets.units] = counted
            self._result[numbers, :, first : first + refused.shape[1]] = refused
            self._waiting.append((numbers, chosen, ranks))
            if sum(len(waiting) for *_, waiting in self._waiting) >= _BATCH:
                self.finish()

    def finish(self) -> None:
        """Measure the rankings that wait."""
        if not self._waiting:
            return
        means = self._means.of(np.concatenate([ranks for *_, ranks in self._waiting]))
        start = 0
        for numbers, chosen, ranks in self._waiting:
            own = means[start : start + len(ranks)]
            first = len(self._of.metrics)
            self._result[numbers, :, :first] = own[chosen, :first]
            self._result[numbers, :, self._result.shape[2] - len(self._of.columns) :] = own[
                chosen, first:
            ]
            start += len(ranks)
        self._waiting.clear()

    def _refused(self, counter: Counter) -> Floats:
        """Shares of questions for which nothing comes back, shape (thresholds, names)."""
        answerable = np.array([item.answerable for item in self._of.questions], dtype=np.bool_)
        empty = counter.above == 0
        groups = [] if answerable.all() else [~answerable, answerable]
        shares = [
            np.count_nonzero(empty[:, group], axis=1) / np.count_nonzero(group)
            for group in groups
            if group.any()
        ]
        return np.stack(shares, axis=-1) if shares else np.empty((len(empty), 0))


def _one_of(rankings: Sequence[SearchRecipe], by_weight: Mapping[float, list[int]]) -> SearchRecipe:
    return rankings[next(iter(by_weight.values()))[0]]
