"""The best recipe of a grid, searched in the background and kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rag.evaluation.metrics import parse_metric
from rag.evaluation.selection import Selection
from rag.evaluation.splits import SplitSelection
from rag.evaluation.sweeping import Grid
from rag.experiments.tuning.state import read_measured
from rag.experiments.tuning.sweeper import Sweep
from rag.experiments.tuning.tuner import Tuner
from rag.library.questions.trial_log import Attempt
from rag.operation import operation
from rag.recipe import Recipe, SearchRecipe
from rag.services.jobs import Job, JobRow, Jobs, Reporter, StoredRecipe
from rag.services.services import Services

LEADERS = 10
_LOOKED_AT = 400  # alike ones included


@dataclass(frozen=True, slots=True)
class Leader:
    """A recipe by its figure and its fields of the grid; None for values that rank alike."""

    figure: float
    fields: Mapping[str, Any]


def leaders(sweep: Sweep, metric: str) -> tuple[Leader, ...]:
    """The first ten with figures of their own, best first; recipes that rank alike are one."""
    alike: dict[tuple[float, ...], list[int]] = {}
    for number in sweep.best(metric, _LOOKED_AT):
        alike.setdefault(tuple(sweep.figures[number].tolist()), []).append(number)
    at = sweep.names.index(metric)
    return tuple(
        Leader(figures[at], _shared([_effective(sweep, number) for number in numbers]))
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
    leaders: tuple[Leader, ...]
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
