"""Fitting probabilities of relevance on labels, and reading thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

import numpy as np

from rag.evaluation.calibration import Calibration, LabelledCandidates, fit
from rag.evaluation.comparison import clusters_of
from rag.evaluation.thresholds import OFF_TOPIC, ThresholdCurve
from rag.operation import operation
from rag.questions.groups import groups_of, split_questions
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Timeline, gather
from rag.retrieval.candidates import threshold_scores
from rag.retrieval.languages import leans_on_words
from rag.runs.evaluator import Evaluator
from rag.search.corpus import corpus
from rag.search.threshold import BM25_FIELDS, FittedCalibration, as_fitted, fitted, threshold_rule
from rag.services import Services
from rag.storage import bases, builds, calibrations
from rag.storage.calibrations import CalibrationRow
from rag.tuning.weighted_progress import WeightedProgress
from rag.types import ProgressCallback, Question, Scores

FEATURES = ("cosine", "bm25")
AUTO_PRECISION = 0.5
"""What ``auto`` aims at: at least half of what reaches it was relevant where it was fitted. Where
no threshold gives that, it is the one of highest precision. It is an aim and promises nothing."""


class Calibrator:
    """Fits and reads thresholds on the labels of a knowledge base."""

    def __init__(self, services: Services, base_id: int) -> None:
        self._services = services
        self._base_id = base_id
        self._evaluator = Evaluator(services, base_id)

    @operation("editor", audit="evaluation")
    def fit(
        self,
        set_name: str,
        recipe: Recipe,
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> tuple[FittedCalibration, ThresholdCurve]:
        """Fits on the tuning questions of a set and keeps the result for the recipe's build.

        The floors are cross-validated on these questions; ``on_progress`` gets (done, total)
        searches of one question.
        Raises NotFound, NotEnoughLabels.
        """
        question_set, questions = self._evaluator.questions(set_name)
        tuning = self._part(
            questions, question_set.split_share, question_set.split_seed, held_out=False
        )
        search = recipe.search.model_copy(update={"mode": "hybrid"})
        learned = fit(self.labelled(tuning, recipe.index, search, on_progress), FEATURES)
        point = learned.curve.aim(AUTO_PRECISION)
        options = {name: getattr(search, name) for name in BM25_FIELDS}
        row = CalibrationRow(
            question_set=set_name,
            set_version=question_set.version,
            questions=len(tuning),
            model={**learned.calibration.to_dict(), "bm25": options},
            quality={
                "scores": asdict(learned.quality),
                "bins": [asdict(reliability) for reliability in learned.bins],
            },
            threshold=point.threshold if point else None,
            created=datetime.now(UTC),
        )
        with self._services.database.write() as connection:
            bases.hold(connection, self._base_id)
            builds.ensure(connection, self._base_id, recipe.index)
            calibrations.replace(connection, self._base_id, recipe.index.hash, row)
        return as_fitted(row), learned.curve

    @operation("guest")
    def fitted(self, index: IndexRecipe) -> FittedCalibration | None:
        """Return the fitted calibration of a build, or None."""
        return fitted(self._services, self._base_id, index)

    @operation("viewer")
    def threshold_curve(self, set_name: str, recipe: Recipe) -> ThresholdCurve:
        """Return the effect of every threshold on the candidates of a recipe, before top-k.

        Probabilities are measured on the held-out questions, which no calibration saw. Cosines,
        which learn nothing, are measured on all questions. Raises NotFound, InvalidInput.
        """
        question_set, questions = self._evaluator.questions(set_name)
        rule = threshold_rule(self._services, self._base_id, recipe.index, recipe.search)
        groups = groups_of(questions)
        if rule.calibration is not None:
            questions = self._part(
                questions, question_set.split_share, question_set.split_seed, held_out=True
            )
        labelled = self.labelled(questions, recipe.index, recipe.search)
        owner = np.repeat(
            np.arange(len(labelled)), [len(candidates.relevant) for candidates in labelled]
        )
        relevance = [
            _compared(candidates, rule.calibration, recipe.search) for candidates in labelled
        ]
        return ThresholdCurve.of(
            np.concatenate(relevance),
            np.concatenate([candidates.relevant for candidates in labelled]),
            owner,
            np.array([question.answerable for question in questions], np.bool_),
            np.array([OFF_TOPIC in question.tags for question in questions], np.bool_),
            clusters_of([question.id for question in questions], groups),
        )

    @staticmethod
    def _part(
        questions: Sequence[Question], share: float, seed: int, *, held_out: bool
    ) -> list[Question]:
        parts = split_questions(questions, share, seed)
        question_ids = set(parts.held_out if held_out else parts.tuning)
        return [question for question in questions if question.id in question_ids]

    @operation("viewer")
    def labelled(
        self,
        questions: Sequence[Question],
        index_recipe: IndexRecipe,
        search: SearchRecipe,
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> list[LabelledCandidates]:
        """The candidates of questions, with which of them are relevant; the threshold cuts none."""
        effort = WeightedProgress(on_progress, 2 * len(questions))
        index = self._services.indexes.complete(self._base_id, index_recipe)
        with effort.part(len(questions)) as progress:
            queries = self._evaluator.queries(questions, index_recipe, progress)
        judge = self._evaluator.judge(questions, index)
        recipe = Recipe(index=index_recipe, search=search)
        searched = corpus(self._services, self._base_id, recipe, index)
        labelled = []
        with effort.part(len(questions)) as progress:
            for done, (question, query) in enumerate(zip(questions, queries, strict=True)):
                progress(done, len(questions))
                _, candidates = gather(question.text, search, searched, Timeline(), query)
                _, grades = judge.graded(question, candidates.keys)
                by_words = leans_on_words(candidates.lacking, search)
                off_topic = OFF_TOPIC in question.tags
                labelled.append(
                    LabelledCandidates(
                        candidates, grades > 0, question.answerable, by_words, off_topic
                    )
                )
        return labelled


def _compared(
    labelled: LabelledCandidates, calibration: Calibration | None, search: SearchRecipe
) -> Scores:
    """Return the values that a threshold is compared with.

    Candidates that no threshold stops, as in a search, have a value of at least 1.
    """
    candidates = labelled.candidates
    if calibration is not None:
        return threshold_scores(calibration.probabilities(candidates), candidates, search)
    relevance = threshold_scores(candidates.cosine, candidates, search)
    return np.maximum(relevance, 1.0) if labelled.by_words else relevance
