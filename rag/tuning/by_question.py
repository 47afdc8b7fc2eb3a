"""One metric of a sweep question by question, so that its best recipe can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.sweeping import Arithmetic
from rag.types import Floats, Question

MOST_FIGURES = 40_000_000
"""Recipes times questions whose figures are held at once."""


@dataclass(frozen=True, slots=True)
class ByQuestion:
    """One metric of all recipes of a sweep.

    ``figures`` has shape (recipes, questions), for the ``questions`` (ids) that are labelled in all
    builds; ``base`` (questions,) those of the recipe that the grid was laid around.
    """

    metric: str
    questions: tuple[str, ...]
    figures: Floats
    base: Floats

    def beside(self, baseline: ByQuestion) -> tuple[tuple[str, ...], Floats]:
        """Questions that a baseline measured too, and figures: its own first, then of all recipes.

        The baseline is the recipe that the other grid was laid around.
        """
        places = {name: place for place, name in enumerate(baseline.questions)}
        shared = [name for name in self.questions if name in places]
        ours = np.array([name in places for name in self.questions], np.bool_)
        theirs = baseline.base[[places[name] for name in shared]]
        return tuple(shared), np.concatenate([theirs[None], self.figures[:, ours]])


@dataclass(frozen=True, slots=True)
class SweepMetrics:
    """The metrics of a sweep: means by name, and the metric ``apart`` reported by question."""

    names: tuple[str, ...]
    as_shown: bool
    with_context: bool
    apart: str | None

    def spread(self, part: Floats, arithmetic: Arithmetic) -> Floats:
        """Figures told apart in columns of all questions: nan for those without a label."""
        if self.apart is None:
            return part
        width = part.shape[1] - len(arithmetic.columns)
        columns = np.full((len(part), len(arithmetic.questions)), np.nan)
        columns[:, arithmetic.columns] = part[:, width:]
        return np.concatenate([part[:, :width], columns], axis=1)


def parted(
    questions: Sequence[Question], base: Floats, figures: Floats, width: int, apart: str | None
) -> ByQuestion | None:
    """Return the columns after the ``width`` means: the metric ``apart`` of every question."""
    if apart is None:
        return None
    figures_of_all = np.concatenate([base, figures])[:, width:]
    labelled = ~np.isnan(figures_of_all).any(axis=0)
    names = [question.id for question, has in zip(questions, labelled.tolist(), strict=True) if has]
    figures_of_all = figures_of_all[:, labelled]
    return ByQuestion(apart, tuple(names), figures_of_all[1:], figures_of_all[0])


def can_be_judged(recipes: int, questions: int) -> bool:
    """Whether the figures of so many recipes fit."""
    return recipes * questions <= MOST_FIGURES


def refuse_many(recipes: int, questions: int) -> None:
    """Raises InvalidInput for more recipes than can be judged at once."""
    if not can_be_judged(recipes, questions):
        raise InvalidInput(
            f"{recipes:,} recipes on {questions:,} questions are too many for one search. "
            f"The limit is {MOST_FIGURES // questions:,} recipes.",
            "Give fewer values, or sweep some fields first and the others around the best.",
        )
