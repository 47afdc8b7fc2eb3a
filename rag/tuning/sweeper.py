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
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.runs.evaluator import Evaluator, deepened
from rag.search.snapshot import take_snapshot
from rag.search.threshold import fitted, threshold_rule
from rag.services import Services
from rag.tuning.by_question import ByQuestion, SweepMetrics, can_be_judged, parted, refuse_many
from rag.tuning.candidates import CandidateSource, alike, is_arithmetic
from rag.tuning.pipeline_figures import pipeline_figures
from rag.tuning.weighted_progress import PER_RECIPE, WeightedProgress
from rag.types import Floats, Keys, ProgressCallback, Question

Changes = Mapping[str, Any]

SWEEP_CUTOFFS = (1, 3, 5, 10, 20)
"""Not as deep as an evaluation: candidates are never fewer than the deepest cutoff."""

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


class Sweeper:
    """Sweeps one question set as it is now; candidates that were fetched serve later sweeps too.

    Not to be shared between threads.
    """

    def __init__(
        self,
        services: Services,
        base_id: int,
        set_name: str,
        only: Collection[str] | None = None,
    ) -> None:
        """``only`` restricts the sweep to questions by id.

        Raises NotFound for an unknown set, InvalidInput when no question is labelled.
        """
        self._services = services
        self._base_id = base_id
        self._set_name = set_name
        self._evaluator = Evaluator(services, base_id)
        _, judged = self._evaluator.questions(set_name)
        self._questions = [item for item in judged if only is None or item.id in only]
        self._sources: dict[str, CandidateSource] = {}

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
        """Measures every recipe of a grid, whose builds must be there.

        The metrics are those of ``MEASURES`` and the refusals; figures of retrieved text
        (``span_recall`` ...) need an evaluation.

        ``as_shown`` cuts each ranking at the recipe's top-k before it is measured;
        ``with_context`` adds the mean tokens of the passages that a recipe shows. ``apart`` is the
        metric that is wanted question by question, too: refused (InvalidInput) for so many recipes
        that they would not fit. ``on_progress`` gets (done, total) in searches of one question.
        """
        names = [f"{name}@{k}" for name in MEASURES for k in sorted(set(cutoffs))]
        if apart is not None:
            refuse_many(len(grid), len(self._questions))
        extra = [CONTEXT] if with_context else []
        alone = Grid.parse({}, grid.base)
        effort = WeightedProgress(on_progress, self.searches(alone) + self.searches(grid))
        request = SweepMetrics(tuple(names), as_shown, with_context, apart)
        base, before = self._figures(alone, request, effort)
        figures, seconds = self._figures(grid, request, effort)
        figure_names = (*Arithmetic(self._questions, (), names).names, *extra)
        by_question = parted(self._questions, base, figures, len(figure_names), apart)
        return Sweep(
            set_name=self._set_name,
            grid=grid,
            cutoffs=tuple(sorted(set(cutoffs))),
            as_shown=as_shown,
            questions=len(self._questions),
            names=figure_names,
            figures=figures[:, : len(figure_names)].copy(),
            base=dict(zip(figure_names, base[0, : len(figure_names)].tolist(), strict=True)),
            by_question=by_question,
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
        """Evaluates some recipes of a sweep one by one; returns the figures that differ at all.

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
        fits = can_be_judged(len(grid), len(self._questions))
        return metric if fits and metric in metrics else None

    def searches(self, grid: Grid) -> float:
        """Return the cost of a grid in searches of a question; arithmetic costs a part of one."""
        searches = _searches(grid.base.search, grid.rankings)
        fetched = len(alike(searches, exact=True))
        by_pipeline = sum(not is_arithmetic(search) for search in searches)
        passes = len(grid) * PER_RECIPE + len(grid.builds) * (1 + fetched + by_pipeline)
        return passes * len(self._questions)

    def _figures(
        self, grid: Grid, request: SweepMetrics, effort: WeightedProgress
    ) -> tuple[Floats, Seconds]:
        """Shape (recipes, names), and after these the questions whose figures are told apart."""
        as_shown, with_context = request.as_shown, request.with_context
        seconds, results = Seconds(), []
        for recipe in grid.indexes():
            with seconds.fetch(), effort.part(len(self._questions)) as on_progress:
                source = self.source(recipe.index, on_progress)
            arithmetic = Arithmetic(
                self._questions, source.ideals, request.names, as_shown, request.apart
            )
            plain = _searches(recipe.search, grid.rankings)
            # What is shown goes no deeper than a search does.
            searches = (
                plain if as_shown else [deepened(search, arithmetic.depth) for search in plain]
            )
            cuts = _Cuts(self._services, self._base_id, recipe, grid.selections)
            for search in searches:
                cuts(search)  # a probability without a calibration is refused here
            parts: dict[int, Floats] = {}
            swept = Swept(source, searches, plain, arithmetic, cuts, with_context, seconds, effort)
            for pairs in alike(searches, source.exact):
                parts |= swept.figures(pairs)
            for number, search in enumerate(searches):
                if number not in parts:
                    with seconds.work(), effort.part(len(self._questions)) as on_progress:
                        displayed = plain[number] if with_context else None
                        parts[number] = pipeline_figures(
                            source, search, cuts(search), arithmetic, on_progress, displayed
                        )
            results += [
                request.spread(parts[number], arithmetic) for number in range(len(searches))
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
            index = self._services.indexes.whole(self._base_id, recipe)
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
                calibration.model
                if (calibration := fitted(self._services, self._base_id, recipe))
                else None,
            )
        return self._sources[recipe.hash]


class _Cuts:
    """Cuts of a ranking for the selections of a grid; ``auto`` depends on mode and relevance."""

    def __init__(
        self, services: Services, base_id: int, recipe: Recipe, selections: Sequence[Changes]
    ) -> None:
        self._services, self._base_id, self._index = services, base_id, recipe.index
        changed = (recipe.search.model_copy(update=_plain(changes)) for changes in selections)
        self._selected = [(search.threshold, search.top_k, search.refuse) for search in changed]
        self._known: dict[tuple[str, str], list[Cut]] = {}

    def __call__(self, search: SearchRecipe) -> Sequence[Cut]:
        kind = search.mode, search.relevance
        if kind not in self._known:
            usual = search.model_copy(update={"threshold": "auto"})
            auto = threshold_rule(self._services, self._base_id, self._index, usual).threshold
            self._known[kind] = [
                Cut(auto if threshold == "auto" else threshold, top_k, refuse)
                for threshold, top_k, refuse in self._selected
            ]
        return self._known[kind]


def _searches(base: SearchRecipe, rankings: Sequence[Changes]) -> list[SearchRecipe]:
    """The search recipes of a grid's rankings."""
    return [base.model_copy(update=_plain(changes)) for changes in rankings]


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
        """Adds what passes inside to ``fetching``."""
        started = time.perf_counter()
        yield
        self.fetching += time.perf_counter() - started

    @contextmanager
    def work(self) -> Iterator[None]:
        """Adds what passes inside to ``arithmetic`` and ``processor``."""
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
