"""The runs of a knowledge base: one part, whose operations are in one module for each purpose."""

from __future__ import annotations

from collections.abc import Callable

from rag.evaluation.report import FailureNote
from rag.results import Run
from rag.runs.gate import Gate
from rag.runs.parity import Parity
from rag.runs.quality.estimates import Estimates
from rag.runs.rankings import Rankings
from rag.runs.recipe_names import RecipeNames
from rag.runs.reporting import Reports
from rag.runs.suggestions import Suggestions
from rag.services import Services


class Runs(Reports, Gate, Estimates, Rankings, Parity, RecipeNames, Suggestions):
    """The runs of one knowledge base."""

    def __init__(
        self, services: Services, base_id: int, failures: Callable[[Run], FailureNote | None]
    ) -> None:
        """``failures`` gives the diagnosis of a run, if there is one."""
        super().__init__(services.database, base_id)
        self._services = services
        self._failures = failures
