"""Figures of recipes, question by question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rag.evaluation.comparison import Comparison, Groups, clusters_of, compare, compare_pairs
from rag.evaluation.intervals import Interval, mean_intervals
from rag.evaluation.measuring import highest_of
from rag.evaluation.metrics import Ranked, evaluate
from rag.types import Floats, Mask, Question

CONTEXT = "context_tokens"


@dataclass(frozen=True)
class QuestionFigures:
    """Results of some recipes, question by question.

    ``metrics`` maps names to values, shape (recipes, labelled), for the questions with the ids
    ``labelled``. The others have shape (recipes, questions): the number of passages above the
    threshold (``above``), the number that a search shows at top-k (``shown``), how many of these
    are ``relevant``, and how many ``tokens`` they have, 0 where they were not counted.
    ``questions`` are the ids of all questions, and ``groups`` are the clusters of questions that
    rise and fall together.
    ``answerable``: shape (questions,). ``highest`` has the highest means that the labels allow.
    """

    questions: tuple[str, ...]
    labelled: tuple[str, ...]
    metrics: Mapping[str, Floats]
    answerable: Mask
    above: Floats
    shown: Floats
    relevant: Floats
    tokens: Floats
    groups: Groups = field(default_factory=dict)
    highest: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        questions: Sequence[Question],
        ideals: Sequence[Sequence[int]],
        metrics: Sequence[str],
        gains: Floats,
        groups: Groups,
        **counts: Floats,
    ) -> QuestionFigures:
        """From the grades of what came back by rank, shape (recipes, questions, depth).

        ``counts`` are ``above``, ``shown``, ``relevant`` and ``tokens``.
        """
        labelled = [place for place, grades in enumerate(ideals) if grades]
        best = Ranked.of([()] * len(labelled), [ideals[place] for place in labelled], depth=0)
        own = np.take(gains, labelled, axis=1)  # in C order: means add up as those of one recipe
        relevant = best.relevant.tolist()
        return cls(
            questions=tuple(question.id for question in questions),
            labelled=tuple(questions[place].id for place in labelled),
            metrics=evaluate(Ranked(own, best.ideal, best.relevant), metrics),
            answerable=np.array([question.answerable for question in questions], np.bool_),
            groups=groups,
            highest={name: highest_of(name, relevant) for name in metrics},
            **counts,
        )

    def __len__(self) -> int:
        """Number of recipes."""
        return len(self.above)

    def means(self, name: str) -> Floats | None:
        """A figure of every recipe, shape (recipes,); None where no question has it.

        Besides the metrics: ``answered`` (answerable questions for which anything comes back),
        ``false_refusal`` and ``correct_refusal`` (answerable and unanswerable ones for which
        nothing does), ``shown_precision`` (the relevant share of all passages shown; nan without
        any) and ``context_tokens``.
        """
        if name == "shown_precision":
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
            case "false_refusal":
                values = (self.above == 0)[:, self.answerable].astype(np.float64)
            case "correct_refusal":
                values = (self.above == 0)[:, ~self.answerable].astype(np.float64)
            case _ if name == CONTEXT:
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
            case "answered" | "false_refusal":
                chosen = self.answerable
            case "correct_refusal":
                chosen = ~self.answerable
            case _ if name == CONTEXT:
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
