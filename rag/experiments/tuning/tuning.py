"""Many recipes of one knowledge base measured at once: sweeps, live figures, tables of builds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rag.evaluation.selection import FEWEST
from rag.experiments.tuning.build_table import BuildTable
from rag.experiments.tuning.calibrator import Calibrator
from rag.experiments.tuning.grid import Grid
from rag.experiments.tuning.grid_search import Best, judged
from rag.experiments.tuning.sweeper import SWEEP_CUTOFFS, Sweep, Sweeper
from rag.experiments.tuning.tuner import Tuner, state
from rag.experiments.tuning.tuning_jobs import BuildTables, Fits, Searches
from rag.library.questions.groups import QuestionSnapshot, read_questions
from rag.operation import operation, part
from rag.recipe import Recipe
from rag.services.jobs import Jobs
from rag.services.services import Services

if TYPE_CHECKING:
    from rag.experiments.tuning.diagnosis.job import Diagnoses


class Tuning:
    """Measurements without stored runs.

    ``searches``, ``build_tables`` and ``fits`` are jobs.
    """

    def __init__(
        self, services: Services, jobs: Jobs, base_id: int, permit_recipe: Callable[[Recipe], None]
    ) -> None:
        """``permit_recipe`` raises for a recipe whose index costs too much to build."""
        self._services = services
        self._jobs = jobs
        self._base_id = base_id
        self._permit_recipe = permit_recipe

    @part
    def diagnoses(self) -> Diagnoses:
        from rag.experiments.tuning.diagnosis.job import Diagnoses

        return Diagnoses(self._services, self._jobs, self._base_id, self._permit_recipe)

    @part
    def searches(self) -> Searches:
        return Searches(self._jobs, self._base_id)

    @part
    def build_tables(self) -> BuildTables:
        return BuildTables(self._jobs, self._base_id)

    @part
    def fits(self) -> Fits:
        return Fits(self._services, self._jobs, self._base_id)

    @part
    def calibrator(self) -> Calibrator:
        return Calibrator(self._services, self._base_id)

    @part
    def build_table(self) -> BuildTable:
        return BuildTable(self._services, self._base_id)

    @operation("viewer", models="none")
    def state(self, set_name: str, recipe: Recipe) -> str:
        """Name what figures rest on beside a recipe: a cache of figures compares this.

        Raises NotFound.
        """
        return state(self._services, self._base_id, set_name, recipe)

    @operation("viewer")
    def sweeper(self, set_name: str) -> Sweeper:
        """For many sweeps of a question set: what one fetched serves the next.

        Sees the questions and documents of now. Raises NotFound, InvalidInput without labels.
        """
        return Sweeper(self._services, self._questions(set_name))

    @operation("editor", audit="evaluation")
    def sweep(
        self,
        set_name: str,
        grid: Mapping[str, Sequence[Any]],
        recipe: Recipe,
        cutoffs: Sequence[int] = SWEEP_CUTOFFS,
    ) -> Sweep:
        """Measure every recipe of a grid (values by field) laid around ``recipe``.

        Builds are measured with the documents that they hold: make what is missing before.
        Raises NotFound, InvalidRecipe, InvalidInput.
        """
        return self.sweeper(set_name).sweep(Grid.parse(grid, recipe), cutoffs)

    @operation("viewer")
    def judged(
        self, sweep: Sweep, sweeper: Sweeper, metric: str, *, held_out: bool = False
    ) -> Best | None:
        """Whether the best of a sweep beats the recipe that its grid was laid around.

        By cross-validation where it was told question by question; with ``held_out``, a recipe is
        chosen anew on the tuning questions. None where there is nothing to judge by: one question,
        or too many recipes. Raises InvalidInput where the set cannot be split.
        """
        if held_out:
            return self.tuner(sweep.set_name).search(
                sweep.grid, sweep.grid.base, metric, held_out=True
            )
        if sweep.metric is None or len(sweep.labelled) < FEWEST:
            return None
        return judged(self._services, sweeper, sweep, sweep.grid.base)

    @operation("viewer")
    def tuner(self, set_name: str) -> Tuner:
        """For a recipe that changes all the time: figures at once, and the best of a grid.

        Sees the questions, documents and calibrations of now. Raises NotFound, InvalidInput
        without labels.
        """
        return Tuner(self._services, self._questions(set_name))

    def _questions(self, set_name: str) -> QuestionSnapshot:
        return self._services.database.fetch(read_questions, self._base_id, set_name)
