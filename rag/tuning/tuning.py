"""Many recipes of one knowledge base measured at once: sweeps, live figures, tables of builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rag.evaluation.sweeping import Grid
from rag.jobs import Jobs
from rag.recipe import Recipe
from rag.services import Services
from rag.tuning.build_table import BuildTable
from rag.tuning.calibrator import Calibrator
from rag.tuning.fit_job import Fits
from rag.tuning.search_job import Searches
from rag.tuning.state import state
from rag.tuning.sweeper import SWEEP_CUTOFFS, Sweep, Sweeper
from rag.tuning.table_job import BuildTables
from rag.tuning.tuner import Tuner


class Tuning:
    """What is measured without keeping runs; ``searches``, ``build_tables``, ``fits`` are jobs."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._base_id = base_id
        self.searches = Searches(jobs, base_id)
        self.build_tables = BuildTables(jobs, base_id)
        self.fits = Fits(services, jobs, base_id)
        self.calibrator = Calibrator(services, base_id)
        self.build_table = BuildTable(services, base_id)

    def state(self, set_name: str, recipe: Recipe) -> str:
        """Names what figures rest on beside a recipe: whoever caches some compares this.

        Raises NotFound.
        """
        return state(self._services, self._base_id, set_name, recipe)

    def sweeper(self, set_name: str) -> Sweeper:
        """For many sweeps of a question set: what one fetched serves the next.

        Sees the questions and documents of now. Raises NotFound, InvalidInput without labels.
        """
        return Sweeper(self._services, self._base_id, set_name)

    def sweep(
        self,
        set_name: str,
        grid: Mapping[str, Sequence[Any]],
        recipe: Recipe,
        cutoffs: Sequence[int] = SWEEP_CUTOFFS,
    ) -> Sweep:
        """Measures every recipe of a grid (values by field) laid around ``recipe``.

        Builds are measured with the documents that they hold: make what is missing before.
        Raises NotFound, InvalidRecipe, InvalidInput.
        """
        return self.sweeper(set_name).sweep(Grid.parse(grid, recipe), cutoffs)

    def tuner(self, set_name: str) -> Tuner:
        """For a recipe that changes all the time: figures at once, and the best of a grid.

        Sees the questions, documents and calibrations of now. Raises NotFound, InvalidInput
        without labels.
        """
        return Tuner(self._services, self._base_id, set_name)
