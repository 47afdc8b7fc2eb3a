"""Tuning in the background: a search for the best recipe, a fit, and a table of indexes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.evaluation.metrics import parse_metric
from rag.evaluation.report.words import counted
from rag.evaluation.selection import Selection
from rag.evaluation.splits import SplitSelection
from rag.experiments.tuning.build_table import BuildFigures, BuildTable
from rag.experiments.tuning.calibrator import Calibrator
from rag.experiments.tuning.grid import Grid
from rag.experiments.tuning.sweeper import Sweep
from rag.experiments.tuning.tuner import Tuner, read_measured, state
from rag.library.questions.trial_log import Attempt
from rag.operation import operation
from rag.recipe import Recipe, SearchRecipe
from rag.services.jobs import Job, JobRow, Jobs, Reporter, StoredRecipe
from rag.services.services import Services

LEADERS = 10
_LOOKED_AT = 400  # alike ones included


@dataclass(frozen=True, slots=True)
class LeaderData:
    """One of the best recipes of a sweep, by its fields of the grid."""

    figure: float
    fields: Mapping[str, Any]
    """None for values that rank alike."""


def leaders(sweep: Sweep, metric: str) -> tuple[LeaderData, ...]:
    """The first ten with figures of their own, best first; recipes that rank alike are one."""
    alike: dict[tuple[float, ...], list[int]] = {}
    for number in sweep.best(metric, _LOOKED_AT):
        alike.setdefault(tuple(sweep.figures[number].tolist()), []).append(number)
    at = sweep.names.index(metric)
    return tuple(
        LeaderData(figures[at], _shared([_effective(sweep, number) for number in numbers]))
        for figures, numbers in list(alike.items())[:LEADERS]
    )


def _shared(recipes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The fields on which all recipes agree; None for the others."""
    first = recipes[0]
    return {
        name: value if all(fields[name] == value for fields in recipes) else None
        for name, value in first.items()
    }


def _effective(sweep: Sweep, number: int) -> dict[str, Any]:
    idle = idle_fields(sweep.grid.recipe(number).search)
    fields = {name.partition(".")[2]: v for name, v in sweep.grid.changes(number).items()}
    return {name: None if name in idle else value for name, value in fields.items()}


def idle_fields(search: SearchRecipe) -> set[str]:
    """Fields that a search does not look at: another value of theirs finds the same."""
    users = {"rrf_k": ("rrf", "qdrant_rrf"), "bm25_pivot": ("saturation",)}
    idle = {constant for constant, fusions in users.items() if search.fusion not in fusions}
    if search.mode != "hybrid":
        idle |= {"dense_weight", "fusion", *users}
    return idle | ({"k1", "b"} if search.mode == "dense" else set())


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The result of a search: the best ``recipe``, and the value of its lead, ``selection``.

    The recipe is the baseline itself if no recipe beats it. ``leaders`` are the best recipes on the
    questions that the choice used. ``state`` identifies the data that everything was measured on,
    and ``attempt`` describes the earlier trials. ``combinations`` counts the recipes of the grid,
    including those with identical results; 0 means unknown.
    """

    state: str
    recipe: Recipe
    baseline: Recipe
    selection: Selection | SplitSelection
    leaders: tuple[LeaderData, ...]
    attempt: Attempt = field(default_factory=Attempt)
    combinations: int = 0


class Search(Job[SearchResult]):
    """A search for the best recipe of a grid around a recipe."""

    kind = "search-all"
    set: str
    grid: Mapping[str, Any]
    recipe: StoredRecipe
    baseline: StoredRecipe
    metric: str
    held_out: bool = False


class Searches:
    """The searches of one knowledge base that run as jobs; the last of each set is kept."""

    def __init__(self, jobs: Jobs, base_id: int) -> None:
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation")
    def start(
        self,
        set_name: str,
        grid: Mapping[str, Sequence[Any]],
        recipe: Recipe,
        baseline: Recipe,
        metric: str,
        held_out: bool = False,
    ) -> int:
        """Queue ``Tuner.search`` over a grid around ``recipe``; the job, also where it is queued.

        Raises InvalidRecipe, InvalidInput for a grid or a metric that is none.
        """
        Grid.parse(grid, recipe)
        parse_metric(metric)
        job = Search(
            set=set_name,
            grid=grid,
            recipe=recipe,
            baseline=baseline,
            metric=metric,
            held_out=held_out,
            about={"set": set_name},
        )
        title = f"Searching for the best recipe on {set_name}"
        return self._jobs.submit_once(self._base_id, title, job.with_digest())

    @operation("viewer")
    def latest(self, set_name: str) -> JobRow | None:
        """The last search on a set, at work or over."""
        return self._jobs.latest(self._base_id, Search, set=set_name)

    @operation("viewer")
    def result(self, set_name: str) -> SearchResult | None:
        """Return the result of the last finished search on a set."""
        return self._jobs.result(self._base_id, Search, set=set_name)


def search_all(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "search-all"; taken up again, it starts over."""
    reporter.report(0, 0, "reading the index")
    search = Search.of(job)
    grid = Grid.parse(search.grid, search.recipe)
    questions, measured_on = read_measured(services, job.base_id, search.set, search.recipe)

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, f"{len(grid):,} combinations")

    tuner = Tuner(services, questions)
    best = tuner.search(grid, search.baseline, search.metric, on_progress, held_out=search.held_out)
    outcome = SearchResult(
        measured_on,
        best.recipe,
        best.baseline,
        best.selection,
        leaders(best.sweep, search.metric),
        best.attempt,
        len(grid),
    )
    reporter.result = Search.dump_result(outcome)
    return f"{len(grid):,} combinations measured: {best.sweep.distinct:,} of them rank differently."


class Fit(Job[None]):
    """A fit of the probabilities of relevance to the labels of a set."""

    kind = "calibrate"
    set: str
    recipe: StoredRecipe


class Fits:
    """The calibrations of one knowledge base that are fitted by jobs."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation")
    def start(self, set_name: str, recipe: Recipe) -> int:
        """Queue ``Calibrator.fit``; return the job, also where it is queued already."""
        job = Fit(set=set_name, recipe=recipe, about=self._about(set_name, recipe))
        return self._jobs.submit_once(self._base_id, f"Fitting probabilities on {set_name}", job)

    @operation("viewer")
    def latest(self, set_name: str, recipe: Recipe) -> JobRow | None:
        """Return the last fit on these questions and documents, at work or over."""
        return self._jobs.latest(self._base_id, Fit, **self._about(set_name, recipe))

    def _about(self, set_name: str, recipe: Recipe) -> dict[str, str]:
        measured_on = state(self._services, self._base_id, set_name, recipe)
        return {"set": set_name, "index": recipe.index.hash, "state": measured_on}


def calibrate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "calibrate"; what it learns replaces what was learned before."""
    reporter.report(0, 0, "reading the index")

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, "finding candidates")

    fit = Fit.of(job)
    fitted, _ = Calibrator(services, job.base_id).fit(fit.set, fit.recipe, on_progress)
    return f"Fitted on {fitted.questions:,} questions."


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The rows of a table; ``state`` names what they were measured on."""

    state: str
    rows: tuple[BuildFigures, ...]


class Compare(Job[StoredTable]):
    """A comparison of the indexes of a grid on a set."""

    kind = "build-table"
    set: str
    grid: Mapping[str, Any]
    recipe: StoredRecipe
    cutoffs: Sequence[int]


class BuildTables:
    """The tables of one knowledge base that are made by jobs."""

    def __init__(self, jobs: Jobs, base_id: int) -> None:
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation")
    def start(
        self,
        set_name: str,
        grid: Mapping[str, Sequence[Any]],
        recipe: Recipe,
        cutoffs: Sequence[int],
    ) -> int:
        """Queue ``BuildTable.rows``; return the job, also where it is queued already."""
        about = _about_indexes(set_name, Grid.parse(grid, recipe))
        job = Compare(set=set_name, grid=grid, recipe=recipe, cutoffs=cutoffs, about=about)
        return self._jobs.submit_once(self._base_id, f"Comparing indexes on {set_name}", job)

    @operation("viewer")
    def latest(self, set_name: str, grid: Grid) -> JobRow | None:
        """The last such table, at work or over."""
        return self._jobs.latest(self._base_id, Compare, **_about_indexes(set_name, grid))

    @operation("viewer")
    def result(self, set_name: str, grid: Grid) -> StoredTable | None:
        """The last such table that came to its end."""
        return self._jobs.result(self._base_id, Compare, **_about_indexes(set_name, grid))


def _about_indexes(set_name: str, grid: Grid) -> dict[str, str]:
    recipes = " ".join(f"{recipe.index.hash} {recipe.search.hash}" for recipe in grid.indexes())
    return {"set": set_name, "recipes": hashlib.sha256(recipes.encode()).hexdigest()}


def build_table(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "build-table"; taken up again, it starts over."""
    comparison = Compare.of(job)
    grid = Grid.parse(comparison.grid, comparison.recipe)
    measured_on = state(services, job.base_id, comparison.set, comparison.recipe)

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, f"{done * len(grid) // total:,} of {len(grid):,} indexes")

    table = BuildTable(services, job.base_id)
    rows = table.rows(comparison.set, grid, comparison.cutoffs, on_progress)
    reporter.result = Compare.dump_result(StoredTable(measured_on, tuple(rows)))
    return f"{counted(len(rows), 'index', 'indexes')} compared."
