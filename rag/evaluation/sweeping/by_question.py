"""Figures of recipes question by question, for those few of a sweep that are looked at closely."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from rag.evaluation.comparison import Comparison, Groups, clusters_of, compare, compare_pairs
from rag.evaluation.intervals import Interval, mean_intervals
from rag.evaluation.measuring import highest_of
from rag.evaluation.metrics import evaluate, parse_metric
from rag.evaluation.sweeping.counting import Counter, Shown
from rag.evaluation.sweeping.deep import Deep
from rag.evaluation.sweeping.pool import Cut, Family, Pool, by_family, pool
from rag.evaluation.sweeping.pruning import Prepared
from rag.evaluation.sweeping.rank_metrics import Labelled, RankMetrics, Units
from rag.recipe import SearchRecipe
from rag.types import Floats, Integers, Mask, Question

Total = Literal["relevant", "tokens"]


@dataclass(frozen=True)
class QuestionFigures:
    """Results of some recipes, question by question.

    ``metrics`` maps names to values, shape (recipes, labelled), for the questions with the ids
    ``labelled``. The others have shape (recipes, questions): the number of passages above the
    threshold (``above``), the number that a search shows at top-k (``shown``), how many of these
    are ``relevant``, and how many ``tokens`` they have, if they were counted. ``questions`` are the
    ids of all questions, and ``groups`` are the clusters of questions that rise and fall together.
    ``answerable``: shape (questions,). ``highest`` has the highest means that the labels allow.
    """

    questions: tuple[str, ...]
    labelled: tuple[str, ...]
    metrics: Mapping[str, Floats]
    answerable: Mask
    above: Floats
    shown: Floats
    relevant: Floats | None = None
    tokens: Floats | None = None
    groups: Groups = field(default_factory=dict)
    highest: Mapping[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        """Number of recipes."""
        return len(self.above)

    def means(self, name: str) -> Floats | None:
        """A figure of every recipe, shape (recipes,); None where no question has it.

        Besides the metrics: ``answered`` (answerable questions for which anything comes back),
        ``correct_refusal`` (unanswerable ones for which nothing does), ``shown_precision`` (the
        relevant share of all passages shown; nan without any) and ``context_tokens``.
        """
        if name == "shown_precision":
            if self.relevant is None:
                return None
            totals = self.shown.sum(axis=1)
            shares: Floats = np.full(len(totals), np.nan)
            np.divide(self.relevant.sum(axis=1), totals, out=shares, where=totals > 0)
            return shares
        values = self.by_question(name)
        return None if values is None else np.asarray(values.mean(axis=1))

    def by_question(self, name: str) -> Floats | None:
        """A figure by recipe and those questions that have it; None where none has."""
        match name:
            case "answered":
                values = (self.above > 0)[:, self.answerable].astype(np.float64)
            case "correct_refusal":
                values = (self.above == 0)[:, ~self.answerable].astype(np.float64)
            case "context_tokens":
                return self.tokens
            case _:
                values = self.metrics[name]
        return values if values.shape[1] else None

    @property
    def refusable(self) -> Sequence[str]:
        """The questions that should be refused."""
        return self._ids("correct_refusal")

    def _ids(self, name: str) -> Sequence[str]:
        """The questions that have a figure."""
        match name:
            case "answered":
                chosen = self.answerable
            case "correct_refusal":
                chosen = ~self.answerable
            case "context_tokens":
                return self.questions
            case _:
                return self.labelled
        return [self.questions[place] for place in np.flatnonzero(chosen).tolist()]

    def _of(self, name: str, recipe: int) -> dict[str, float] | None:
        """A figure of one recipe by question; None where none has it."""
        values = self.by_question(name)
        if values is None:
            return None
        return dict(zip(self._ids(name), values[recipe].tolist(), strict=True))

    def intervals(self, names: Iterable[str]) -> dict[str, Interval]:
        """The 95% intervals of means of the first recipe, for figures in [0, 1] that it has."""
        by_name = {}
        for name in names:
            values = self.by_question(name)
            if values is not None:
                clusters = clusters_of(self._ids(name), self.groups)
                by_name[name] = Interval(*mean_intervals(values[0], clusters).tolist())
        return by_name

    def changes(self, names: Iterable[str], other: QuestionFigures) -> dict[str, Comparison]:
        """From the first recipe of ``other``, of the same questions, to the first of these.

        Figures that are shown together are corrected together.
        """
        pairs = [
            (name, ours, theirs)
            for name in names
            if (ours := self._of(name, 0)) is not None
            and (theirs := other._of(name, 0)) is not None
        ]
        comparisons = compare_pairs(pairs, groups=self.groups)
        return {
            comparison.metric: comparison.within(self.highest.get(comparison.metric, 1.0))
            for comparison in comparisons
        }

    def compare(self, name: str, recipe: int, other: int, *, picked: bool = False) -> Comparison:
        """Two of the recipes in one metric, question by question.

        One that was ``picked`` for its mean is corrected for all that it was picked from.
        """
        mine, theirs = self._of(name, recipe) or {}, self._of(name, other) or {}
        picked_from = len(self) - 1 if picked and recipe != other else 1
        found = compare(name, mine, theirs, groups=self.groups, picked_from=picked_from)
        return found.within(self.highest.get(name, 1.0))


@dataclass(frozen=True)
class Material:
    """Judged questions with their candidates; ``ideals`` has the grades of all that is relevant.

    ``tokens``, shape (candidates,), may be left out where they are not counted.
    """

    questions: Sequence[Question]
    ideals: Sequence[Sequence[int]]
    deep: Deep
    tokens: Integers | None = None
    groups: Groups = field(default_factory=dict)

    def only(self, ids: Collection[str]) -> Material:
        """The same for some of the questions."""
        chosen = np.array([item.id in ids for item in self.questions], np.bool_)
        places = np.flatnonzero(chosen).tolist()
        return Material(
            questions=[self.questions[place] for place in places],
            ideals=[self.ideals[place] for place in places],
            deep=self.deep.only(chosen),
            tokens=None if self.tokens is None else self.tokens[chosen[self.deep.row]],
            groups=self.groups,
        )


class Closeup:
    """A measurement of recipes on one material; what recipes of one family share is laid out
    once.
    """

    def __init__(self, material: Material) -> None:
        self._material = material
        self._labelled = Labelled.of(material.ideals)
        self._prepared = Prepared(material.deep)
        self._pools: dict[Family, Pool] = {}

    def figures(
        self,
        recipes: Sequence[tuple[SearchRecipe, Cut]],
        metrics: Sequence[str],
        *,
        as_shown: bool = False,
        totals: Sequence[Total] = (),
        displayed: Sequence[SearchRecipe] | None = None,
    ) -> QuestionFigures:
        """Figures of recipes that share their BM25; ``totals`` tells what of the shown is counted.

        Metrics look down the ranking above the threshold; ``as_shown`` cuts it at top-k before.
        ``displayed`` are the recipes as they search, where metrics look deeper than that.
        """
        shape = len(recipes), len(self._material.questions)
        tables = {name: np.empty((len(recipes), len(self._labelled))) for name in metrics}
        above, sums = np.empty(shape), {name: np.empty(shape) for name in totals}
        for family, by_weight in by_family([search for search, _ in recipes]).items():
            laid_out = self._pool(family)
            for weight, numbers in by_weight.items():
                cuts = [recipes[number][1] for number in numbers]
                for name, values in self._metrics(
                    laid_out, weight, cuts, metrics, as_shown
                ).items():
                    tables[name][numbers] = values
                above[numbers] = laid_out.above([cut.limit for cut in cuts])
        visible, counted = above.copy(), [self._values(total) for total in totals]
        for family, by_weight in by_family(displayed or [one for one, _ in recipes]).items():
            laid_out = self._pool(family)
            for weight, numbers in by_weight.items():
                cuts = [recipes[number][1] for number in numbers]
                visible[numbers] = laid_out.above([cut.limit for cut in cuts])
                in_view = Shown(laid_out, cuts).sums(weight, counted) if totals else ()
                for total, counts in zip(totals, in_view, strict=True):
                    sums[total][numbers] = counts
        limits = np.array([[cut.top_k] for _, cut in recipes], np.float64)
        has = self._labelled.number >= 0
        names = [item.id for item in self._material.questions]
        relevant = self._labelled.best.relevant.tolist()
        return QuestionFigures(
            questions=tuple(names),
            groups=self._material.groups,
            labelled=tuple(names[place] for place in np.flatnonzero(has).tolist()),
            metrics=tables,
            answerable=np.array([item.answerable for item in self._material.questions], np.bool_),
            above=above,
            shown=np.minimum(visible, limits),
            relevant=sums.get("relevant"),
            tokens=sums.get("tokens"),
            highest={name: highest_of(name, relevant) for name in metrics},
        )

    def _pool(self, family: Family) -> Pool:
        if family not in self._pools:
            self._pools[family] = pool(self._prepared.layout(family.by), family)
        return self._pools[family]

    def _values(self, total: Total) -> Floats | Integers | Mask:
        """Return the contribution of each candidate to a total, shape (candidates,)."""
        material = self._material
        if total == "relevant":
            return material.deep.grade > 0
        return np.zeros(len(material.deep.row)) if material.tokens is None else material.tokens

    def _metrics(
        self,
        laid_out: Pool,
        weight: float,
        cuts: Sequence[Cut],
        metrics: Sequence[str],
        as_shown: bool,
    ) -> Mapping[str, Floats]:
        """Figures by name, shape (cuts, labelled)."""
        depth = max(parse_metric(name).k for name in metrics)
        counter = Counter(laid_out, cuts, depth, as_shown=as_shown)
        ranks = counter.ranks(weight)[counter.rows]
        layout, at = laid_out.layout, laid_out.targets.units
        units = Units(
            self._labelled.number[layout.unit_rows[at]],
            layout.unit_slots[at],
            layout.unit_grades[at],
        )
        return evaluate(RankMetrics(ranks, depth, units, self._labelled.best), metrics)
