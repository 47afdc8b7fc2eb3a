"""Fitting probabilities of relevance on labels, and reading thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rag.evaluation.calibration import LabelledCandidates, fit_calibration
from rag.evaluation.thresholds import OFF_TOPIC, ThresholdCurve
from rag.experiments.runs.evaluator import Evaluator
from rag.experiments.tuning.sweeper import WeightedProgress
from rag.library.questions.groups import split_questions
from rag.operation import operation
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval import Timeline, gather
from rag.search.corpus import BM25_FIELDS, FittedCalibration, as_fitted, corpus, fitted
from rag.services.services import Services
from rag.storage import bases, builds, registries
from rag.storage.registries import CalibrationRow
from rag.types import ProgressCallback, Question

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
        parts = split_questions(questions, question_set.split_share, question_set.split_seed)
        tuning = [question for question in questions if question.id in set(parts.tuning)]
        search = recipe.search.model_copy(update={"mode": "hybrid"})
        learned = fit_calibration(
            self._labelled(tuning, recipe.index, search, on_progress), FEATURES
        )
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
            registries.replace_calibration(connection, self._base_id, recipe.index.hash, row)
        return as_fitted(row), learned.curve

    @operation("guest")
    def fitted(self, index: IndexRecipe) -> FittedCalibration | None:
        """Return the fitted calibration of a build, or None."""
        return fitted(self._services, self._base_id, index)

    def _labelled(
        self,
        questions: Sequence[Question],
        index_recipe: IndexRecipe,
        search: SearchRecipe,
        on_progress: ProgressCallback,
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
                off_topic = OFF_TOPIC in question.tags
                labelled.append(
                    LabelledCandidates(candidates, grades > 0, question.answerable, off_topic)
                )
        return labelled
