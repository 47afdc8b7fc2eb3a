"""Sweeping recipes over a question set: candidates are fetched once, the rest is arithmetic."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, product
from typing import Any

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.metrics import MEASURES, parse_metric
from rag.evaluation.relevance import judged_by_document
from rag.evaluation.sweeping import CONTEXT, QuestionFigures, measure
from rag.experiments.runs.evaluator import Evaluator, deepened, measurable_questions
from rag.experiments.tuning.candidates import CandidateSource, alike, pipeline_figures
from rag.experiments.tuning.grid import Changes, Grid
from rag.library.questions.groups import QuestionSnapshot
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval.stages import measured_by_pipeline
from rag.search.corpus import FittedCalibration, fitted, rule_with
from rag.search.snapshot import take_snapshot
from rag.search.tools import refuse_tools
from rag.services.services import Services
from rag.types import Floats, ProgressCallback, Question
from rag.types.results import blind_metrics, blindness

PER_RECIPE = 1 / 2000
"""What a recipe of a sweep takes, in searches of as many questions: arithmetic is that quick."""


class WeightedProgress:
    """Progress as ``done`` of ``total``, both in searches of one question."""

    def __init__(self, on_progress: ProgressCallback, total: float) -> None:
        self._tell = on_progress
        self._total = max(total, 1.0)
        self._before = self._told = 0.0

    @contextmanager
    def part(self, weight: float) -> Iterator[ProgressCallback]:
        """Yield a callback for ``weight`` of the whole; its progress may start again."""
        start = self._before

        def on_progress(done: int, total: int) -> None:
            self._show(start + weight * done / max(total, 1))

        on_progress(0, 1)
        yield on_progress
        self._before = start + weight
        self._show(self._before)

    def _show(self, done: float) -> None:
        self._told = min(max(self._told, done), self._total)
        self._tell(int(self._told), round(self._total))


SWEEP_CUTOFFS = (1, 3, 5, 10, 20)
"""Not as deep as an evaluation: candidates are never fewer than the deepest cutoff."""

MOST_FIGURES = 40_000_000
"""Recipes times questions whose figures are in memory at once."""

_AT_ONCE = 50_000  # recipes times questions that are measured together


@dataclass(frozen=True)
class Sweep:
    """The figures of every recipe of a grid. ``figures``: shape (recipes, names).

    ``base`` has those of the recipe that the grid was laid around, or of another one that was
    named. ``scores`` has one ``metric`` question by question, where that was asked for: shape
    (1 + recipes, questions), that recipe first, for the questions (ids) that are ``labelled`` in
    all builds. ``fetch_seconds`` went into embedding questions, searching vectors and reading
    postings, once for all k1 and b of a grid; ``seconds`` into what comes after: BM25 with each k1
    and b, all recipes, and the searches of recipes with steps that arithmetic cannot follow. Of the
    processor that took ``processor_seconds``, which other programs lengthen less. ``rankable`` is
    the number of passages, or documents, that the rankings of ``base`` can have at most.
    """

    set_name: str
    grid: Grid
    cutoffs: tuple[int, ...]
    as_shown: bool
    questions: int
    names: tuple[str, ...]
    figures: Floats
    base: Mapping[str, float]
    metric: str | None
    labelled: tuple[str, ...]
    scores: Floats
    seconds: float
    fetch_seconds: float
    processor_seconds: float
    rankable: int

    @property
    def cautions(self) -> tuple[str, ...]:
        """Sentences on why its figures may not tell good from bad."""
        blind = blind_metrics(self.names, self.rankable)
        return (blindness(blind, self.rankable),) if blind else ()

    @property
    def recipes_per_second(self) -> float:
        """Recipes by second of arithmetic."""
        return len(self.grid) / max(self.seconds, 1e-9)

    @cached_property
    def distinct(self) -> int:
        """Number of recipes with distinct metrics.

        Fields without effect under the other settings, and thresholds with no passage between them,
        produce recipes with identical metrics. Such recipes count once as candidates for the best.
        """
        return len(np.unique(self.figures, axis=0))

    def metrics(self, number: int) -> dict[str, float]:
        """The figures of one recipe, by name."""
        return dict(zip(self.names, self.figures[number].tolist(), strict=True))

    def best(self, name: str, count: int) -> list[int]:
        """Numbers of the recipes with the highest figure, best first; ties in grid order."""
        values = self.figures[:, self.names.index(name)]
        return [int(number) for number in np.argsort(-values, kind="stable")[:count]]

    def place(self, name: str) -> int:
        """Return the rank of the base recipe among the grid's recipes, from 1."""
        values = self.figures[:, self.names.index(name)]
        return int(np.count_nonzero(values > self.base[name])) + 1


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A figure that the ordinary pipeline does not confirm."""

    recipe: Recipe
    name: str
    swept: float
    evaluated: float


class Sweeper:
    """Sweeps a snapshot of a question set; candidates that were fetched serve later sweeps too.

    Not to be shared between threads.
    """

    def __init__(
        self,
        services: Services,
        question_set: QuestionSnapshot,
        only: Collection[str] | None = None,
    ) -> None:
        """``only`` restricts the sweep to questions by id.

        Raises InvalidInput when no question is labelled.
        """
        self._services = services
        self.question_set = question_set
        self._base_id = question_set.base_id
        self._evaluator = Evaluator(services, self._base_id)
        self._judged = measurable_questions(question_set.question_set, question_set.questions)
        self._questions = [item for item in self._judged if only is None or item.id in only]
        self._sources: dict[str, CandidateSource] = {}
        self._calibrations: dict[str, FittedCalibration | None] = {}

    def sweep(
        self,
        grid: Grid,
        cutoffs: Sequence[int] = SWEEP_CUTOFFS,
        *,
        as_shown: bool = False,
        with_context: bool = False,
        apart: str | None = None,
        base: Recipe | None = None,
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> Sweep:
        """Measure every recipe of a grid, whose builds must be there.

        The metrics are those of ``MEASURES`` and the refusals; figures of retrieved text
        (``span_recall`` ...) need an evaluation.

        ``as_shown`` cuts each ranking at the recipe's top-k before it is measured;
        ``with_context`` adds the mean tokens of the passages that a recipe shows. ``apart`` is the
        metric that is wanted question by question, too: refused (InvalidInput) for so many recipes
        that they would not fit. ``base`` is measured beside the grid, None for the recipe that it
        was laid around. ``on_progress`` gets (done, total) in searches of one question.
        """
        if apart is not None:
            _refuse_many(len(grid), len(self._questions))
        measurable_questions(self.question_set.question_set, self._questions)
        alone = Grid.parse({}, base or grid.base)
        effort = WeightedProgress(on_progress, self.searches(alone) + self.searches(grid))
        metrics = [f"{name}@{k}" for name in MEASURES for k in sorted(set(cutoffs))]
        names = (*metrics, *self._refusals, *([CONTEXT] if with_context else []))
        rows, scores, fetching = list[Floats](), list[Floats](), np.zeros(2)
        for swept in (alone, grid):
            started, before = _clock(), fetching.copy()
            figures = np.empty((len(swept), len(names)))
            apart_scores = np.full((len(swept) if apart else 0, len(self._questions)), np.nan)
            for numbers, measured in self._measured(
                swept, metrics, fetching, effort, as_shown=as_shown, with_context=with_context
            ):
                means = [row for name in names if (row := measured.means(name)) is not None]
                figures[numbers] = np.stack(means, axis=1)
                if apart is not None:
                    labelled = np.isin(measured.questions, measured.labelled)
                    apart_scores[np.ix_(np.array(numbers), labelled)] = measured.metrics[apart]
            rows.append(figures)
            scores.append(apart_scores)
        seconds, processor = (_clock() - started - (fetching - before)).tolist()
        by_question = np.concatenate(scores)
        everywhere = ~np.isnan(by_question).any(axis=0) & (apart is not None)
        index = self.source((base or grid.base).index).index
        keys, passages = index.keys, index.passages
        return Sweep(
            set_name=self.question_set.name,
            grid=grid,
            cutoffs=tuple(sorted(set(cutoffs))),
            as_shown=as_shown,
            questions=len(self._questions),
            names=names,
            figures=rows[1],
            base=dict(zip(names, rows[0][0].tolist(), strict=True)),
            metric=apart,
            labelled=tuple(self._questions[at].id for at in np.flatnonzero(everywhere).tolist()),
            scores=by_question[:, everywhere],
            seconds=seconds,
            fetch_seconds=float(fetching[0]),
            processor_seconds=processor,
            rankable=len(keys if all(map(judged_by_document, self._questions)) else passages),
        )

    def verify(
        self,
        sweep: Sweep,
        count: int,
        seed: int = 0,
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> list[Mismatch]:
        """Evaluate some recipes of a sweep one by one; return the figures that differ at all.

        The recipes are drawn with ``seed``. Raises InvalidInput for a sweep ``as_shown``, which
        an evaluation, made to the deepest cutoff, cannot confirm.
        """
        if sweep.as_shown:
            raise InvalidInput(
                "Only a sweep of whole rankings can be verified.", "Leave out --as-shown."
            )
        chosen = random.Random(seed).sample(range(len(sweep.grid)), min(count, len(sweep.grid)))
        mismatches = []
        for done, number in enumerate(chosen):
            on_progress(done, len(chosen))
            recipe, swept = sweep.grid.recipe(number), sweep.metrics(number)
            source = self.source(recipe.index)
            snapshot = take_snapshot(self._services, self._base_id, recipe, source.index)
            _, evaluated = self._evaluator.measure(
                self._questions, source.queries, snapshot, sweep.cutoffs
            )
            swept.pop(CONTEXT, None)  # evaluations do not count tokens
            mismatches += [
                Mismatch(recipe, name, value, evaluated[name])
                for name, value in swept.items()
                if value != evaluated[name]
            ]
        return mismatches

    def tellable(self, metric: str, cutoffs: Sequence[int], grid: Grid) -> str | None:
        """The metric, where a sweep can tell it question by question; else None."""
        metrics = {f"{name}@{k}" for name in MEASURES for k in cutoffs}
        fits = len(grid) * len(self._questions) <= MOST_FIGURES
        return metric if fits and metric in metrics else None

    def searches(self, grid: Grid) -> float:
        """Return the cost of a grid in searches of a question; arithmetic costs a part of one.

        Raises InvalidInput for tools.
        """
        searches = _searches(grid, grid.base)
        for search in searches:
            refuse_tools(search)
        for recipe in grid.indexes():
            self._calibration(recipe.index)
        swept, by_pipeline = _divided(searches)
        fetches = len(grid.builds) * (1 + len(alike(swept, exact=True)) + len(by_pipeline))
        return (len(grid) * PER_RECIPE + fetches) * len(self._questions)

    @property
    def _refusals(self) -> list[str]:
        """Names of the refusals, which count where something is unanswerable."""
        has = {question.answerable for question in self._questions}
        both = ["correct_refusal", *(["false_refusal"] if True in has else [])]
        return both if False in has else []

    def _calibration(self, index: IndexRecipe) -> FittedCalibration | None:
        if index.hash not in self._calibrations:
            self._calibrations[index.hash] = fitted(self._services, self._base_id, index)
        return self._calibrations[index.hash]

    def _measured(
        self,
        grid: Grid,
        metrics: Sequence[str],
        fetching: Floats,
        effort: WeightedProgress,
        *,
        as_shown: bool,
        with_context: bool,
    ) -> Iterator[tuple[list[int], QuestionFigures]]:
        """Yield numbers of recipes with their figures; ``fetching`` adds up what fetches take."""
        questions, deepest = len(self._questions), max(parse_metric(name).k for name in metrics)
        selections = [_plain(row) for row in grid.selections]
        for build, recipe in enumerate(grid.indexes()):
            searches = _searches(grid, recipe)
            swept, by_pipeline = _divided(searches)
            first, autos = build * len(searches), self._autos(recipe.index, searches)
            started = _clock()
            with effort.part(questions) as on_progress:
                source = self.source(recipe.index, on_progress)
            fetching += _clock() - started

            asked = {n: s if as_shown else deepened(s, deepest) for n, s in swept.items()}
            for tables in alike(asked, source.exact):
                started = _clock()
                with effort.part(questions) as on_progress:
                    source.fetch(_deepest(asked, chain(*tables)), on_progress)
                fetching += _clock() - started
                for numbers in tables:
                    table = source.table(_deepest(asked, numbers))
                    table = source.with_tokens(table) if with_context else table
                    pairs = product(numbers, range(len(selections)))
                    while some := list(islice(pairs, max(_AT_ONCE // questions, 1))):
                        recipes = [_cut(searches[n], selections[place], autos) for n, place in some]
                        with effort.part(questions * len(some) * PER_RECIPE):
                            measured = measure(
                                table,
                                recipes,
                                metrics,
                                deepest=deepest,
                                as_shown=as_shown,
                                calibration=source.calibration,
                            )
                        yield [(first + n) * len(selections) + place for n, place in some], measured

            for number, search in by_pipeline.items():
                with effort.part(questions) as on_progress:
                    for place, selection in enumerate(selections):
                        measured = pipeline_figures(
                            source,
                            _cut(search, selection, autos),
                            metrics,
                            deepest=deepest,
                            as_shown=as_shown,
                            with_context=with_context,
                            on_progress=on_progress,
                        )
                        yield [(first + number) * len(selections) + place], measured

    def _autos(
        self, index: IndexRecipe, searches: Iterable[SearchRecipe]
    ) -> dict[tuple[str, str], float | None]:
        """The threshold that ``auto`` means, by mode and relevance.

        Raises InvalidInput for a probability without a calibration.
        """
        kinds = {(search.mode, search.relevance): search for search in searches}
        models, calibration = self._services.models, self._calibration(index)
        autos = {
            kind: search.model_copy(update={"threshold": "auto"}) for kind, search in kinds.items()
        }
        return {
            kind: rule_with(calibration, models, index, search).threshold
            for kind, search in autos.items()
        }

    @property
    def questions(self) -> Sequence[Question]:
        """The questions that count: labelled, or said to be unanswerable."""
        return self._questions

    def has_candidates(self, recipe: IndexRecipe, search: SearchRecipe) -> bool:
        """Whether candidates as deep as ``search`` asks were fetched."""
        source = self._sources.get(recipe.hash)
        return source is not None and source.has_candidates(search)

    def source(
        self, recipe: IndexRecipe, on_progress: ProgressCallback = lambda _done, _total: None
    ) -> CandidateSource:
        """The candidates of a build; ``on_progress`` is called with questions that are embedded."""
        if recipe.hash not in self._sources:
            index = self._services.indexes.complete(self._base_id, recipe)
            queries = self._evaluator.queries(self._questions, recipe, on_progress)
            judge = self._evaluator.judge(self._judged, index)
            self._sources[recipe.hash] = CandidateSource(
                self._services,
                self.question_set,
                self._questions,
                recipe,
                index,
                queries,
                judge,
                self._calibration(recipe),
            )
        return self._sources[recipe.hash]


def _refuse_many(recipes: int, questions: int) -> None:
    """Raise InvalidInput for more recipes than can be judged at once."""
    if recipes * questions > MOST_FIGURES:
        raise InvalidInput(
            f"{recipes:,} recipes on {questions:,} questions are too many for one search. "
            f"The limit is {MOST_FIGURES // questions:,} recipes.",
            "Give fewer values, or sweep some fields first and the others around the best.",
        )


def _plain(changes: Changes) -> dict[str, Any]:
    """Values, checked already, by field name without the part's."""
    return {
        name.removeprefix("search."): tuple(value) if isinstance(value, list) else value
        for name, value in changes.items()
    }


def _clock() -> Floats:
    """Seconds of the wall and of the processor."""
    return np.array([time.perf_counter(), time.process_time()])


def _searches(grid: Grid, recipe: Recipe) -> list[SearchRecipe]:
    """The search recipes of the rankings of a grid around ``recipe``, which has one of its builds.

    Another build may bring another dense weight.
    """
    return [recipe.search.model_copy(update=_plain(row)) for row in grid.rankings]


def _divided(
    searches: Sequence[SearchRecipe],
) -> tuple[dict[int, SearchRecipe], dict[int, SearchRecipe]]:
    """The searches that arithmetic follows, and those that the pipeline measures, by number."""
    swept, by_pipeline = dict[int, SearchRecipe](), dict[int, SearchRecipe]()
    for number, search in enumerate(searches):
        (by_pipeline if measured_by_pipeline(search) else swept)[number] = search
    return swept, by_pipeline


def _cut(
    search: SearchRecipe, selection: Changes, autos: Mapping[tuple[str, str], float | None]
) -> SearchRecipe:
    """A recipe with one selection of a grid, its threshold as a number."""
    recipe = search.model_copy(update=dict(selection))
    if recipe.threshold != "auto":
        return recipe
    return recipe.model_copy(update={"threshold": autos[search.mode, search.relevance]})


def _deepest(searches: Mapping[int, SearchRecipe], numbers: Iterable[int]) -> SearchRecipe:
    return max((searches[number] for number in numbers), key=lambda search: search.candidates)
