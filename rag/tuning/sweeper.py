"""Sweeping recipes over a question set: candidates are fetched once, the rest is arithmetic."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.errors import InvalidInput
from rag.evaluation.metrics import MEASURES
from rag.evaluation.sweeping import CONTEXT, Arithmetic, By, Cut, Field, Grid, Pair, Prepared
from rag.evaluation.sweeping.arithmetic import Cuts
from rag.evaluation.sweeping.sweep_metrics import ByQuestion, SweepMetrics
from rag.questions.snapshot import QuestionSnapshot
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.retrieval.stages import measured_by_pipeline
from rag.runs.evaluator import Evaluator, deepened, measurable_questions
from rag.search.snapshot import take_snapshot
from rag.search.threshold import FittedCalibration, fitted, rule_with
from rag.search.tools import refuse_tools
from rag.services import Models, Services
from rag.tuning.candidates import CandidateSource, alike
from rag.tuning.pipeline_figures import pipeline_figures
from rag.tuning.weighted_progress import PER_RECIPE, WeightedProgress
from rag.types import Floats, Keys, ProgressCallback, Question

Changes = Mapping[str, Any]

SWEEP_CUTOFFS = (1, 3, 5, 10, 20)
"""Not as deep as an evaluation: candidates are never fewer than the deepest cutoff."""

MOST_FIGURES = 40_000_000
"""Recipes times questions whose figures are in memory at once."""

_AT_ONCE = 1024  # rankings measured between two looks at whether to stop
_BLOCK = 24  # pairs of k1 and b whose candidates stand in one table


@dataclass(frozen=True)
class Sweep:
    """The figures of every recipe of a grid. ``figures``: shape (recipes, names).

    ``base`` has those of the recipe that the grid was laid around. ``by_question`` has one metric
    question by question, where that was asked for. ``fetch_seconds`` went into
    embedding questions, searching vectors, reading postings and sorting by cosine, once for all
    k1 and b of a grid; ``seconds`` into what comes after: BM25 with each k1 and b, all recipes,
    and the searches of recipes with steps that arithmetic cannot follow. Of the processor that
    took ``processor_seconds``, which other programs lengthen less.
    """

    set_name: str
    grid: Grid
    cutoffs: tuple[int, ...]
    as_shown: bool
    questions: int
    names: tuple[str, ...]
    figures: Floats
    base: Mapping[str, float]
    by_question: ByQuestion | None
    seconds: float
    fetch_seconds: float
    processor_seconds: float

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


@dataclass(frozen=True, slots=True)
class _Plan:
    """A grid with the search recipes of its rankings.

    ``by_pipeline`` numbers those with steps that arithmetic cannot follow.
    """

    grid: Grid
    searches: Sequence[SearchRecipe]
    by_pipeline: frozenset[int]

    def cost(self) -> float:
        """Return the cost in searches of a question; arithmetic costs a part of one."""
        groups, builds = alike(self.searches, self.by_pipeline, exact=True), self.grid.builds
        fetches = len(builds) * (1 + len(groups) + len(self.by_pipeline))
        return len(self.grid) * PER_RECIPE + fetches


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
        judged = measurable_questions(question_set.question_set, question_set.questions)
        self._questions = [item for item in judged if only is None or item.id in only]
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
        on_progress: ProgressCallback = lambda _done, _total: None,
    ) -> Sweep:
        """Measure every recipe of a grid, whose builds must be there.

        The metrics are those of ``MEASURES`` and the refusals; figures of retrieved text
        (``span_recall`` ...) need an evaluation.

        ``as_shown`` cuts each ranking at the recipe's top-k before it is measured;
        ``with_context`` adds the mean tokens of the passages that a recipe shows. ``apart`` is the
        metric that is wanted question by question, too: refused (InvalidInput) for so many recipes
        that they would not fit. ``on_progress`` gets (done, total) in searches of one question.
        """
        names = [f"{name}@{k}" for name in MEASURES for k in sorted(set(cutoffs))]
        if apart is not None:
            _refuse_many(len(grid), len(self._questions))
        extra = [CONTEXT] if with_context else []
        alone, plan = self._plan(Grid.parse({}, grid.base)), self._plan(grid)
        work = (alone.cost() + plan.cost()) * len(self._questions)
        effort = WeightedProgress(on_progress, work)
        request = SweepMetrics(tuple(names), as_shown, with_context, apart)
        base, before = self._figures(alone, request, effort)
        figures, seconds = self._figures(plan, request, effort)
        figure_names = (*Arithmetic(self._questions, (), names).names, *extra)
        return Sweep(
            set_name=self.question_set.name,
            grid=grid,
            cutoffs=tuple(sorted(set(cutoffs))),
            as_shown=as_shown,
            questions=len(self._questions),
            names=figure_names,
            figures=figures[:, : len(figure_names)].copy(),
            base=dict(zip(figure_names, base[0, : len(figure_names)].tolist(), strict=True)),
            by_question=request.by_question(self._questions, base, figures),
            seconds=seconds.arithmetic,
            fetch_seconds=before.fetching + seconds.fetching,
            processor_seconds=seconds.processor,
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
        """Return the cost of a grid for all questions. Raises InvalidInput for tools."""
        return self._plan(grid).cost() * len(self._questions)

    def _plan(self, grid: Grid) -> _Plan:
        """Resolve the recipes of a grid before anything is fetched.

        Raises InvalidInput for tools.
        """
        searches = [grid.base.search.model_copy(update=_plain(row)) for row in grid.rankings]
        for search in searches:
            refuse_tools(search)
        for recipe in grid.indexes():
            self._calibration(recipe.index)
        by_pipeline = (bool(measured_by_pipeline(search)) for search in searches)
        numbers = (number for number, measured in enumerate(by_pipeline) if measured)
        return _Plan(grid, searches, frozenset(numbers))

    def _calibration(self, index: IndexRecipe) -> FittedCalibration | None:
        if index.hash not in self._calibrations:
            self._calibrations[index.hash] = fitted(self._services, self._base_id, index)
        return self._calibrations[index.hash]

    def _figures(
        self, plan: _Plan, request: SweepMetrics, effort: WeightedProgress
    ) -> tuple[Floats, Seconds]:
        """Shape (recipes, names), and after these the questions whose figures are told apart."""
        grid, plain = plan.grid, plan.searches
        as_shown, with_context = request.as_shown, request.with_context
        seconds, results = Seconds(), []
        for recipe in grid.indexes():
            with seconds.fetch(), effort.part(len(self._questions)) as on_progress:
                source = self.source(recipe.index, on_progress)
            arithmetic = Arithmetic(
                self._questions, source.ideals, request.names, as_shown, request.apart
            )
            # What is shown goes no deeper than a search does.
            depth = arithmetic.depth
            searches = plain if as_shown else [deepened(search, depth) for search in plain]
            cuts = _Cuts(self._services.models, source.fitted, recipe, grid.selections)
            for search in searches:
                cuts(search)  # a probability without a calibration is refused here
            parts: dict[int, Floats] = {}
            swept = Swept(source, searches, plain, arithmetic, cuts, with_context, seconds, effort)
            for pairs in alike(searches, plan.by_pipeline, source.exact):
                parts |= swept.figures(pairs)
            for number in sorted(plan.by_pipeline):
                with seconds.work(), effort.part(len(self._questions)) as on_progress:
                    displayed, search = plain[number] if with_context else None, searches[number]
                    parts[number] = pipeline_figures(
                        source, search, cuts(search), arithmetic, on_progress, displayed
                    )
            results += [
                request.spread(parts[number], arithmetic.columns, len(self._questions))
                for number in range(len(searches))
            ]
        return np.concatenate(results), seconds

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
            judge = self._evaluator.judge(self._questions, index)
            self._sources[recipe.hash] = CandidateSource(
                self._services,
                self._base_id,
                self._questions,
                recipe,
                index,
                queries,
                judge,
                self._calibration(recipe),
            )
        return self._sources[recipe.hash]


class _Cuts:
    """Cuts of a ranking for the selections of a grid; ``auto`` depends on mode and relevance."""

    def __init__(
        self,
        models: Models,
        calibration: FittedCalibration | None,
        recipe: Recipe,
        selections: Sequence[Changes],
    ) -> None:
        self._models, self._calibration, self._index = models, calibration, recipe.index
        changed = (recipe.search.model_copy(update=_plain(changes)) for changes in selections)
        self._selected = [(search.threshold, search.top_k, search.refuse) for search in changed]
        self._known: dict[tuple[str, str], list[Cut]] = {}

    def __call__(self, search: SearchRecipe) -> Sequence[Cut]:
        kind = search.mode, search.relevance
        if kind not in self._known:
            usual = search.model_copy(update={"threshold": "auto"})
            auto = rule_with(self._calibration, self._models, self._index, usual).threshold
            self._known[kind] = [
                Cut(auto if threshold == "auto" else threshold, top_k, refuse)
                for threshold, top_k, refuse in self._selected
            ]
        return self._known[kind]


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


@dataclass
class Seconds:
    fetching: float = 0.0
    arithmetic: float = 0.0
    processor: float = 0.0

    @contextmanager
    def fetch(self) -> Iterator[None]:
        """Add what passes inside to ``fetching``."""
        started = time.perf_counter()
        yield
        self.fetching += time.perf_counter() - started

    @contextmanager
    def work(self) -> Iterator[None]:
        """Add what passes inside to ``arithmetic`` and ``processor``."""
        started, worked = time.perf_counter(), time.process_time()
        yield
        self.arithmetic += time.perf_counter() - started
        self.processor += time.process_time() - worked


@dataclass(frozen=True)
class Swept:
    """Recipes of a build whose figures are arithmetic; ``seconds`` notes what it took.

    ``plain`` are the ``searches``, no deeper than they are where something is shown.
    """

    source: CandidateSource
    searches: Sequence[SearchRecipe]
    plain: Sequence[SearchRecipe]
    arithmetic: Arithmetic
    cuts: Cuts
    with_context: bool
    seconds: Seconds
    effort: WeightedProgress

    def figures(self, pairs: Mapping[Pair, Sequence[int]]) -> dict[int, Floats]:
        """Figures by number. Postings are fetched; what k1 and b make of them is arithmetic."""
        rows = dict[int, Floats]()
        for block in _blocks(list(pairs)):
            weight = len(self.arithmetic.questions) * len(block) / len(pairs)
            rows |= self._block({pair: pairs[pair] for pair in block}, weight)
        return rows

    def _block(self, pairs: Mapping[Pair, Sequence[int]], weight: float) -> dict[int, Floats]:
        """``weight`` is that of fetching: together for several pairs, by itself for one."""
        rows = dict[int, Floats]()
        together, alone = (0.0, weight) if len(pairs) == 1 else (weight, 0.0)
        with self.seconds.fetch(), self.effort.part(together) as on_progress:
            field = self._field(pairs, on_progress)
        for pair, numbers in pairs.items():
            with self.seconds.fetch(), self.effort.part(alone) as on_progress:
                if field is None:
                    prepared = self._prepared(
                        [self.searches[number] for number in numbers], on_progress
                    )
            with self.seconds.work():
                if field is not None:
                    prepared = field.prepared(pair)
                for start in range(0, len(numbers), _AT_ONCE):
                    some = numbers[start : start + _AT_ONCE]
                    rows.update(zip(some, self._arithmetic(prepared, some), strict=True))
        return rows

    def _arithmetic(self, prepared: Prepared, numbers: Sequence[int]) -> Floats:
        chosen = [self.searches[number] for number in numbers]
        displayed = [self.plain[number] for number in numbers]
        tokens = self._tokens(prepared.deep.keys)
        recipes = len(numbers) * len(self.cuts(chosen[0]))
        with self.effort.part(len(self.arithmetic.questions) * recipes * PER_RECIPE):
            return self.arithmetic.figures(prepared, chosen, self.cuts, tokens, displayed)

    def _field(
        self, pairs: Mapping[Pair, Sequence[int]], on_progress: ProgressCallback
    ) -> Field | None:
        """The candidates of all pairs in one table; None for one pair, or where it is too large."""
        if len(pairs) == 1:
            return None
        searches = [self.searches[number] for numbers in pairs.values() for number in numbers]
        field = self.source.field(max(searches, key=_depth), pairs, on_progress)
        if field is not None:
            self._tokens(field.all_candidates.keys)
            for by in {By.of(search) for search in searches}:
                if by.relevance == "cosine":
                    field.layout(by)
        return field

    def _prepared(
        self, searches: Sequence[SearchRecipe], on_progress: ProgressCallback
    ) -> Prepared:
        prepared = self.source.prepared(max(searches, key=_depth), on_progress)
        for by in {By.of(search) for search in searches}:
            prepared.layout(by)
        self._tokens(prepared.deep.keys)
        return prepared

    def _tokens(self, keys: Keys) -> npt.NDArray[np.int64] | None:
        return self.source.tokens(keys) if self.with_context else None


def _depth(search: SearchRecipe) -> int:
    return search.candidates


def _blocks(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs that lie near each other: the nearer they are, the less can be among the first."""
    ordered = sorted(pairs)
    return [ordered[start : start + _BLOCK] for start in range(0, len(ordered), _BLOCK)]
