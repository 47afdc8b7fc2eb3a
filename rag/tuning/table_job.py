"""The table of chunkings and embedders, measured in the background and kept."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter

from rag.evaluation.report.words import counted
from rag.evaluation.sweeping import Grid
from rag.jobs import JobRow, Jobs, Reporter
from rag.operation import operation
from rag.recipe import Recipe
from rag.services import Services
from rag.tuning.build_table import BuildFigures, BuildTable
from rag.tuning.state import state

JOB = "build-table"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """The rows of a table; ``state`` names what they were measured on."""

    state: str
    rows: tuple[BuildFigures, ...]


_STORED = TypeAdapter(StoredTable)


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
        parsed = Grid.parse(grid, recipe)
        payload = {
            "set": set_name,
            "grid": dict(grid),
            "recipe": recipe.model_dump(mode="json"),
            "cutoffs": list(cutoffs),
        }
        title = f"Comparing indexes on {set_name}"
        about = _about(set_name, parsed)
        return self._jobs.submit_once(self._base_id, JOB, title, about, payload)

    @operation("viewer")
    def latest(self, set_name: str, grid: Grid) -> JobRow | None:
        """The last such table, at work or over."""
        return self._jobs.latest(self._base_id, JOB, _about(set_name, grid))

    @operation("viewer")
    def result(self, set_name: str, grid: Grid) -> StoredTable | None:
        """The last such table that came to its end."""
        stored = self._jobs.result(self._base_id, JOB, _about(set_name, grid))
        return None if stored is None else _STORED.validate_python(stored)


def _about(set_name: str, grid: Grid) -> dict[str, str]:
    indexes = " ".join(recipe.index.hash for recipe in grid.indexes())
    digest = hashlib.sha256(indexes.encode()).hexdigest()
    return {"set": set_name, "search": grid.base.search.hash, "indexes": digest}


def build_table(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "build-table"; taken up again, it starts over."""
    payload, recipe = job.payload, Recipe.restore(job.payload["recipe"])
    grid = Grid.parse(payload["grid"], recipe)
    measured_on = state(services, job.base_id, payload["set"], recipe)

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, f"{done * len(grid) // total:,} of {len(grid):,} indexes")

    table = BuildTable(services, job.base_id)
    rows = table.rows(payload["set"], grid, payload["cutoffs"], on_progress)
    reporter.result = _STORED.dump_python(StoredTable(measured_on, tuple(rows)), mode="json")
    return f"{counted(len(rows), 'index', 'indexes')} compared."
