"""The table of chunkings and embedders, measured in the background and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rag.evaluation.report.words import counted
from rag.evaluation.sweeping import Grid
from rag.experiments.tuning.build_table import BuildFigures, BuildTable
from rag.experiments.tuning.state import state
from rag.operation import operation
from rag.recipe import Recipe
from rag.services.jobs import Job, JobRow, Jobs, Reporter, StoredRecipe
from rag.services.services import Services


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
        about = _about(set_name, Grid.parse(grid, recipe))
        job = Compare(set=set_name, grid=grid, recipe=recipe, cutoffs=cutoffs, about=about)
        return self._jobs.submit_once(self._base_id, f"Comparing indexes on {set_name}", job)

    @operation("viewer")
    def latest(self, set_name: str, grid: Grid) -> JobRow | None:
        """The last such table, at work or over."""
        return self._jobs.latest(self._base_id, Compare, **_about(set_name, grid))

    @operation("viewer")
    def result(self, set_name: str, grid: Grid) -> StoredTable | None:
        """The last such table that came to its end."""
        return self._jobs.result(self._base_id, Compare, **_about(set_name, grid))


def _about(set_name: str, grid: Grid) -> dict[str, str]:
    indexes = " ".join(recipe.index.hash for recipe in grid.indexes())
    digest = hashlib.sha256(indexes.encode()).hexdigest()
    return {"set": set_name, "search": grid.base.search.hash, "indexes": digest}


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
