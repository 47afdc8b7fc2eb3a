"""Two passports of a learned fusion: its gain on unseen questions, and on unseen documents.

Both are nested cross-validations. The outer folds leave out what the model is measured on; within
the rest, inner folds choose among the options of the fit. New documents are the harder test: no
candidate of an unseen document teaches, whatever the question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.comparison import Comparison, Groups, compare_pairs
from rag.evaluation.splits import folds
from rag.learned_fusion import FusionModel, fit_linear, fit_trees
from rag.learned_fusion.linear import RANKING, SIMPLE
from rag.tuning.learning.labelled import (
    METRIC,
    LabelledQuestion,
    Ranker,
    TrainingRows,
    training_rows,
)
from rag.types import ProgressCallback

Kind = Literal["linear", "trees"]
Fit = Callable[[TrainingRows], FusionModel]

FOLDS = 5
INNER_FOLDS = 3
FEWEST_DOCUMENTS = 10
"""Labelled documents, for folds of them to say anything."""


def options(kind: Kind) -> list[Fit]:
    """The fits that the inner folds choose from; the first of equally good ones wins."""
    if kind == "linear":
        pairs = ((SIMPLE, 10.0), (RANKING, 10.0), (RANKING, 100.0))
        return [partial(_linear, names=names, ridge=ridge) for names, ridge in pairs]
    sizes = ((2, 60), (3, 60))
    return [partial(_trees, depth=depth, rounds=rounds) for depth, rounds in sizes]


def _linear(rows: TrainingRows, names: Sequence[str], ridge: float) -> FusionModel:
    return fit_linear(rows.table, rows.grades, rows.owner, names, ridge)


def _trees(rows: TrainingRows, depth: int, rounds: int) -> FusionModel:
    return fit_trees(rows.table, rows.grades, rows.owner, depth, rounds)


@dataclass(frozen=True, slots=True)
class Fold:
    """Questions to measure on, by place, and the documents that training must not see."""

    places: tuple[int, ...]
    unseen: frozenset[str] = frozenset()


def question_folds(questions: Sequence[LabelledQuestion], groups: Groups) -> list[Fold]:
    """Folds of questions; groups stay together."""
    codes = folds([item.question.id for item in questions], FOLDS, groups=groups)
    return [Fold(_places(codes, fold)) for fold in range(FOLDS) if fold in codes]


def document_folds(questions: Sequence[LabelledQuestion]) -> list[Fold]:
    """Folds of documents, each with the questions most of whose labels are in it.

    All other documents that these questions have labels in are unseen too. Empty for too few
    documents.
    """
    names = sorted({name for item in questions for name in item.labelled_documents})
    if len(names) < FEWEST_DOCUMENTS:
        return []
    fold_of = dict(zip(names, folds(names, FOLDS), strict=True))
    codes = []
    for item in questions:
        counts = np.bincount([fold_of[name] for name in item.labelled_documents], minlength=FOLDS)
        codes.append(int(counts.argmax()))
    result = []
    for fold in range(FOLDS):
        places = _places(codes, fold)
        theirs = {name for place in places for name in questions[place].labelled_documents}
        own = {name for name in names if fold_of[name] == fold}
        result += [Fold(places, frozenset(theirs | own))] if places else []
    return result


def _places(codes: Sequence[int], fold: int) -> tuple[int, ...]:
    return tuple(place for place, code in enumerate(codes) if code == fold)


class Learner:
    """Fits models of one kind on labelled questions."""

    def __init__(
        self, kind: Kind, questions: Sequence[LabelledQuestion], ranker: Ranker, groups: Groups
    ) -> None:
        self._options = options(kind)
        self._questions = questions
        self._ranker = ranker
        self._groups = groups

    def fit(
        self, places: Sequence[int], unseen: frozenset[str], step: Callable[[], None]
    ) -> FusionModel:
        """The model of some questions, with the option that inner folds prefer."""
        questions = [self._questions[place] for place in places]
        totals = np.zeros(len(self._options))
        codes = folds(
            [item.question.id for item in questions], INNER_FOLDS, seed=1, groups=self._groups
        )
        for fold in range(INNER_FOLDS):
            seen = [item for item, code in zip(questions, codes, strict=True) if code != fold]
            rest = [item for item, code in zip(questions, codes, strict=True) if code == fold]
            rows = training_rows(seen, unseen) if seen else None
            for number, fit in enumerate(self._options):
                step()
                if rows is not None and rows.questions:
                    totals[number] += self._total(fit(rows), rest)
        step()
        rows = training_rows(questions, unseen)
        if not rows.questions:
            raise InvalidInput(
                "No labelled passage of the other documents is among the candidates.",
                "Label more questions, or raise search.candidates.",
            )
        return self._options[int(totals.argmax())](rows)

    def _total(self, model: FusionModel, questions: Sequence[LabelledQuestion]) -> float:
        return sum(item.quick_score(model.scores(item.table)) for item in questions)

    def held_out(self, layout: Sequence[Fold], step: Callable[[], None]) -> dict[str, float]:
        """METRIC of every question by a model that did not see its fold, by question id."""
        figures = {}
        for fold in layout:
            rest = [place for place in range(len(self._questions)) if place not in fold.places]
            model = self.fit(rest, fold.unseen, step)
            for place in fold.places:
                item = self._questions[place]
                figures[item.question.id] = self._ranker.score(item, model.scores(item.table))
        return figures

    @property
    def steps(self) -> int:
        """The number of fits for one model."""
        return INNER_FOLDS * len(self._options) + 1


@dataclass(frozen=True, slots=True)
class Passport:
    """A comparison of the learned fusion with the recipe's own on unseen ``unit``.

    ``folds`` of them were left out in turn.
    """

    unit: Literal["questions", "documents"]
    folds: int
    comparison: Comparison

    @property
    def gains(self) -> bool:
        """Whether the test shows a gain."""
        return self.comparison.verdict == "better"


def issue_passports(
    learner: Learner,
    questions: Sequence[LabelledQuestion],
    before: dict[str, float],
    groups: Groups,
    alpha: Callable[[dict[str, dict[str, float]]], float],
    on_progress: ProgressCallback,
) -> tuple[Passport, ...]:
    """The passports, tested together; without one over documents if these are too few.

    ``before`` has METRIC of the recipe by question id. ``alpha`` returns the level of the test for
    the figures by unit.
    """
    layouts = {"questions": question_folds(questions, groups)}
    if by_document := document_folds(questions):
        layouts["documents"] = by_document
    total = learner.steps * (sum(map(len, layouts.values())) + 1)
    steps = _counted(on_progress, total)
    figures = {
        unit: learner.held_out(layout, lambda: next(steps)) for unit, layout in layouts.items()
    }
    pairs = [(METRIC, by_question, before) for by_question in figures.values()]
    comparisons = compare_pairs(pairs, groups=groups, alpha=alpha(figures))
    return tuple(
        Passport("questions" if unit == "questions" else "documents", len(layouts[unit]), result)
        for unit, result in zip(layouts, comparisons, strict=True)
    )


def _counted(on_progress: ProgressCallback, total: int) -> Iterator[None]:
    for done in range(total + 1):
        on_progress(done, total)
        yield
