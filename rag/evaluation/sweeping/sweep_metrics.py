"""One metric of a sweep question by question, so that its best recipe can be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rag.types import Floats, Integers, Question


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

    def spread(self, part: Floats, labelled: Integers, questions: int) -> Floats:
        """Give the metric ``apart`` a column for each question; nan for those not ``labelled``."""
        if self.apart is None:
            return part
        width = part.shape[1] - len(labelled)
        columns = np.full((len(part), questions), np.nan)
        columns[:, labelled] = part[:, width:]
        return np.concatenate([part[:, :width], columns], axis=1)

    def by_question(
        self, questions: Sequence[Question], base: Floats, figures: Floats
    ) -> ByQuestion | None:
        """Return the metric ``apart`` of the questions that are labelled in all builds."""
        if self.apart is None:
            return None
        columns = np.concatenate([base, figures])[:, figures.shape[1] - len(questions) :]
        labelled = ~np.isnan(columns).any(axis=0)
        named = zip(questions, labelled.tolist(), strict=True)
        ids = tuple(question.id for question, has in named if has)
        columns = columns[:, labelled]
        return ByQuestion(self.apart, ids, columns[1:], columns[0])
