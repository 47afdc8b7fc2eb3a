"""Metrics of one recipe after the other, live, and the state of the data that they rest on."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Literal

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.calibration import cross_validated
from rag.evaluation.comparison import Comparison, clusters_of
from rag.evaluation.metrics import parse_metric
from rag.evaluation.splits import Split
from rag.evaluation.sweeping import CandidateTable, QuestionFigures, compared, measure
from rag.evaluation.thresholds import OFF_TOPIC, PromiseCurves, ThresholdCurve, TopicProbabilities
from rag.experiments.runs.evaluator import deepened
from rag.experiments.tuning.calibrator import FEATURES
from rag.experiments.tuning.candidates import refuse_steps
from rag.experiments.tuning.grid import Grid
from rag.experiments.tuning.grid_search import (
    Best,
    judged,
    plainest,
    settle,
    with_open_hits,
)
from rag.experiments.tuning.sweeper import SWEEP_CUTOFFS, Sweeper, WeightedProgress
from rag.library.questions.groups import QuestionSnapshot, read_questions
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval.candidates import threshold_scores
from rag.retrieval.filters import filter_digest
from rag.retrieval.stages import by_arithmetic, measured_by_pipeline
from rag.search.corpus import fitted, threshold_rule
from rag.services.services import Services
from rag.storage import Connection, bases, builds, documents, registries
from rag.storage import questions as question_rows
from rag.storage.questions import QuestionSet
from rag.types import Floats, Mask, ProgressCallback


def state(services: Services, base_id: int, set_name: str, recipe: Recipe) -> str:
    """Names all that figures depend on beside a recipe; it never comes back once it has changed.

    Tags count as far as this recipe or the saved one filters by them, builds as far as these use
    them. Raises NotFound.
    """
    with services.database.read() as connection:
        question_set = question_rows.get_question_set(connection, base_id, set_name)
        return _digest(connection, base_id, question_set, recipe)


def read_measured(
    services: Services, base_id: int, set_name: str, recipe: Recipe
) -> tuple[QuestionSnapshot, str]:
    """Read a question set and the ``state`` that goes with it, in one transaction.

    Raises NotFound.
    """
    with services.database.read() as connection:
        questions = read_questions(connection, base_id, set_name)
        return questions, _digest(connection, base_id, questions.question_set, recipe)


def _digest(connection: Connection, base_id: int, question_set: QuestionSet, recipe: Recipe) -> str:
    base = bases.by_id(connection, base_id)
    calibration = registries.calibration_of_build(connection, base_id, recipe.index.hash)
    traits = cache(partial(documents.traits, connection, base_id))
    sides = recipe, base.recipe
    filtered = [filter_digest(side.search, traits) for side in sides]
    held = [builds.held(connection, base_id, side.index.hash) for side in sides]
    searched = documents.state(connection, base_id), held
    parts = (base_id, searched, question_set, calibration and calibration.created, filtered)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


QuestionPart = Literal["all", "tuning", "held-out"]

_DEEPEST = max(SWEEP_CUTOFFS)


def _silent(_done: int, _total: int) -> None:
    """Nobody listens."""


class Tuner:
    """A measurement of recipes on a question set as it was when the tuner was made.

    Candidates are fetched once for a build and a BM25; all else is arithmetic. Safe to share
    between threads, which wait for each other.
    """

    def __init__(self, services: Services, question_set: QuestionSnapshot) -> None:
        """Raise InvalidInput when no question is labelled."""
        self._services = services
        self._set = question_set
        self._base_id = question_set.base_id
        self._lock = threading.Lock()
        self._sweeper = Sweeper(services, question_set)
        self._tuning_sweeper: Sweeper | None = None

    @property
    def split(self) -> Split | None:
        """The split of the whole set, of which not every question may count; None for few."""
        return self._set.parts

    @property
    def questions(self) -> int:
        """Questions that count: labelled, or said to be unanswerable."""
        return len(self._sweeper.questions)

    def labelled(self, index: IndexRecipe) -> frozenset[str]:
        """Return the ids of the questions with a label in the documents of a build."""
        with self._lock:
            ideals = self._sweeper.source(index).ideals
        pairs = zip(self._sweeper.questions, ideals, strict=True)
        return frozenset(question.id for question, ideal in pairs if ideal)

    def counted(self, part: QuestionPart, *, answerable: bool = False) -> int:
        """Count the questions of a part, or only those of them that are ``answerable``."""
        ids = self._ids(part)
        return sum(
            (ids is None or item.id in ids) and (item.answerable or not answerable)
            for item in self._sweeper.questions
        )

    def unknown_languages(self, recipe: Recipe, part: QuestionPart = "all") -> Mapping[str, int]:
        """Count the questions in languages that the embedder does not know, by ISO 639-1 code."""
        with self._lock:
            table = self._table(recipe)
        ids = self._ids(part)
        rows = zip(table.questions, table.lacking, strict=True)
        return Counter(code for item, code in rows if code and (ids is None or item.id in ids))

    @staticmethod
    def by_arithmetic(recipe: Recipe) -> Recipe:
        """Return a recipe without its steps that arithmetic cannot follow."""
        return recipe.model_copy(update={"search": by_arithmetic(recipe.search)})

    @staticmethod
    def left_out(recipe: Recipe) -> list[str]:
        """The fields that switch on the steps that arithmetic cannot follow."""
        return [f"search.{row.fields[0]}" for row in measured_by_pipeline(recipe.search)]

    def has_candidates(self, recipe: Recipe) -> bool:
        """Whether the candidates of a recipe are there; never waits for a ``fetch``."""
        return self._sweeper.has_candidates(recipe.index, _deeper(recipe.search))

    def fetch(self, recipe: Recipe, on_progress: ProgressCallback = _silent) -> None:
        """Find the candidates of a recipe, unless they are there.

        ``on_progress`` gets (done, total) questions.
        """
        with self._lock:
            self._table(recipe, on_progress)

    def figures(
        self,
        recipes: Sequence[Recipe],
        metrics: Sequence[str],
        part: QuestionPart = "all",
        *,
        as_shown: bool = False,
        with_context: bool = False,
    ) -> QuestionFigures:
        """Figures, question by question, of recipes that share their index and their BM25.

        Metrics look down the ranking above the threshold, as in an evaluation that is no deeper
        than a sweep; ``as_shown`` cuts it at top-k before. ``with_context`` counts the tokens of
        what is shown. Raises InvalidInput where ``part`` has no questions, and for steps that
        arithmetic cannot follow.
        """
        for recipe in recipes:
            refuse_steps(recipe.search)
        searches = self._resolved(recipes)
        with self._lock:
            source = self._sweeper.source(recipes[0].index)
            table = self._table(max(recipes, key=lambda recipe: recipe.search.candidates))
            table = table if part == "all" else table.only(self._counts(part))
            return measure(
                source.with_tokens(table) if with_context else table,
                searches,
                metrics,
                deepest=_DEEPEST,
                as_shown=as_shown,
                calibration=source.calibration,
            )

    def with_open_hits(
        self, comparisons: Mapping[str, Comparison], recipe: Recipe, baseline: Recipe
    ) -> dict[str, Comparison]:
        """Comparisons of a recipe with another one by metric, undecided where open hits matter."""
        with self._lock:
            return with_open_hits(
                self._services, self._sweeper, comparisons, recipe, baseline, _silent
            )

    def threshold_curve(self, recipe: Recipe) -> ThresholdCurve:
        """Return the effect of every threshold on the candidates of a recipe, before top-k.

        A question that the recipe refuses as off-topic has none, as in a search.
        Probabilities are measured on the held-out questions, which no calibration saw. Cosines,
        which learn nothing, are measured on all questions. Raises InvalidInput.
        """
        rule = threshold_rule(self._services, self._base_id, recipe.index, recipe.search)
        with self._lock:
            table = self._table(recipe)
        part: QuestionPart = "all" if rule.calibration is None else "held-out"
        return self._curve(table, recipe, compared(table, recipe.search, rule.calibration), part)

    def promise_curves(self, recipe: Recipe) -> PromiseCurves:
        """The tuning questions to choose a threshold on, and the held-out ones to check it on.

        Probabilities of tuning questions that taught them are cross-validated: they are by fits
        that did not see the question. Raises NotEnoughLabels, and InvalidInput for a set that is
        too small to be split.
        """
        rule = threshold_rule(self._services, self._base_id, recipe.index, recipe.search)
        self._parts()
        with self._lock:
            table = self._table(recipe)
        relevance = compared(table, recipe.search, rule.calibration)
        taught = rule.calibration is not None and self._taught(recipe.index)
        unseen = self._cross_validated(table, recipe) if taught else relevance
        return PromiseCurves(
            self._curve(table, recipe, unseen, "tuning"),
            self._curve(table, recipe, relevance, "held-out"),
        )

    def _curve(
        self, table: CandidateTable, recipe: Recipe, relevance: Floats, part: QuestionPart
    ) -> ThresholdCurve:
        counts = self._counts(part)
        searched = counts & ~table.refused(recipe.search.refuse)
        inside = table.mask(recipe.search.mode, recipe.search.candidates) & searched[:, None]
        questions = [
            item for item, has in zip(table.questions, counts.tolist(), strict=True) if has
        ]
        return ThresholdCurve.of(
            relevance[inside],
            table.grade[inside] > 0,
            (np.cumsum(counts) - 1)[np.nonzero(inside)[0]],
            np.array([item.answerable for item in questions], np.bool_),
            np.array([OFF_TOPIC in item.tags for item in questions], np.bool_),
            clusters_of([item.id for item in questions], self._set.groups),
        )

    def topic_probabilities(self, recipe: Recipe) -> TopicProbabilities | None:
        """Return the on-topic probability of each question, independent of the recipe's refusals.

        Returns None if no topic model is trained for the recipe's embedder.
        """
        with self._lock:
            topics = self._table(recipe).topics
        usual = next((topic.usual for topic in topics if topic is not None), None)
        if usual is None:
            return None
        values = [1.0 if topic is None else topic.probability for topic in topics]
        answerable = [question.answerable for question in self._sweeper.questions]
        return TopicProbabilities(np.array(values), np.array(answerable, np.bool_), usual)

    def _taught(self, index: IndexRecipe) -> bool:
        """Whether the calibration of a build was learned from this question set."""
        calibration = fitted(self._services, self._base_id, index)
        return calibration is not None and calibration.question_set == self._set.name

    def _cross_validated(self, table: CandidateTable, recipe: Recipe) -> Floats:
        """Probabilities of tuning questions by fits that did not see them; 0 for the others."""
        counts = self._counts("tuning")
        inside = table.mask("hybrid", recipe.search.candidates) & counts[:, None]
        relevance = np.zeros(inside.shape)
        relevance[inside] = cross_validated(
            table.flat(inside),
            table.grade[inside] > 0,
            (np.cumsum(counts) - 1)[np.nonzero(inside)[0]],
            int(counts.sum()),
            FEATURES,
        )
        return threshold_scores(relevance, table.candidates, recipe.search)

    def require_parts(self, index: IndexRecipe) -> None:
        """Nothing where a recipe can be chosen on some questions and compared on others.

        Raises InvalidInput for a set that is too small to be split, and where none of one part has
        a label in the documents of this build.
        """
        parts = self._parts()
        labelled = self.labelled(index)
        for name, ids in (("tuning", parts.tuning), ("held-out", parts.held_out)):
            if labelled.isdisjoint(ids):
                raise InvalidInput(
                    f"No {name} question of {self._set.name!r} has a label in these documents.",
                    "Label passages for some of them, or split the set again.",
                )

    def search(
        self,
        grid: Grid,
        baseline: Recipe,
        metric: str,
        on_progress: ProgressCallback = _silent,
        *,
        held_out: bool = False,
    ) -> Best:
        """The best recipe of a grid, and its worth on questions that had no part in the choice.

        That is decided by cross-validation; with ``held_out``, the recipe is chosen on the tuning
        questions and compared on the held-out ones. Of equally good ones it is the one that
        differs least from the baseline. Builds are measured with the documents that they hold.
        The ledger of the set counts the search. Raises InvalidInput for too few questions, and
        ``held_out`` as ``require_parts`` does.
        """
        if held_out:
            return self._search_split(grid, baseline, metric, on_progress)
        with self._lock:
            sweep = self._sweeper.sweep(
                grid,
                (parse_metric(metric).k,),
                apart=metric,
                base=baseline,
                on_progress=on_progress,
            )
            return judged(self._services, self._sweeper, sweep, baseline)

    def _search_split(
        self, grid: Grid, baseline: Recipe, metric: str, on_progress: ProgressCallback
    ) -> Best:
        for recipe in grid.indexes():
            self.require_parts(recipe.index)
        with self._lock:
            parts = self._parts()
            if self._tuning_sweeper is None:
                tuning = set(parts.tuning)
                self._tuning_sweeper = Sweeper(self._services, self._set, tuning)
            sweeper = self._tuning_sweeper
            effort = WeightedProgress(
                on_progress, sweeper.searches(grid) + len(sweeper.questions) + self.questions
            )
            with effort.part(sweeper.searches(grid) + len(sweeper.questions)) as progress:
                sweep = sweeper.sweep(grid, (parse_metric(metric).k,), on_progress=progress)
        recipe = plainest(sweep, metric, baseline)
        with effort.part(self.questions) as progress:
            self.fetch(baseline, progress)
            self.fetch(recipe, progress)
        ours, theirs = (self.figures([side], [metric]) for side in (baseline, recipe))
        scores = np.concatenate([ours.metrics[metric], theirs.metrics[metric]])
        with self._lock:
            return settle(
                self._services,
                self._sweeper,
                sweep,
                (recipe, baseline),
                metric,
                ours.labelled,
                scores,
                parts,
            )

    def _parts(self) -> Split:
        if self._set.parts is None:
            raise InvalidInput(
                f"{self._set.name!r} has too few questions to split into tuning and "
                "held-out questions.",
                "Label more questions.",
            )
        return self._set.parts

    def _ids(self, part: QuestionPart) -> set[str] | None:
        if part == "all":
            return None
        parts = self._parts()
        return set(parts.tuning if part == "tuning" else parts.held_out)

    def _counts(self, part: QuestionPart) -> Mask:
        """Return a mask of the questions of a part, shape (questions,)."""
        ids = self._ids(part)
        return np.array([ids is None or item.id in ids for item in self._sweeper.questions])

    def _table(self, recipe: Recipe, on_progress: ProgressCallback = _silent) -> CandidateTable:
        source = self._sweeper.source(recipe.index, on_progress)
        return source.table(_deeper(recipe.search), on_progress)

    def _resolved(self, recipes: Sequence[Recipe]) -> list[SearchRecipe]:
        """The search recipes with thresholds as numbers."""
        thresholds: dict[tuple[object, ...], float | None] = {}
        for recipe in recipes:
            search = recipe.search
            kind = search.mode, search.relevance, search.threshold
            if kind not in thresholds:
                rule = threshold_rule(self._services, self._base_id, recipe.index, search)
                thresholds[kind] = rule.threshold
        return [
            search.model_copy(
                update={"threshold": thresholds[search.mode, search.relevance, search.threshold]}
            )
            for search in (recipe.search for recipe in recipes)
        ]


def _deeper(search: SearchRecipe) -> SearchRecipe:
    return deepened(search, _DEEPEST)
