"""The runs of a knowledge base: one part, whose operations are in one module for each purpose."""

from __future__ import annotations

from collections.abc import Callable

from rag.evaluation.report import FailureNote
from rag.jobs import Jobs
from rag.results import Run
from rag.runs.deciding.decisions import Decisions
from rag.runs.evaluate_job import Evaluations
from rag.runs.evaluator import Evaluator
from rag.runs.gate import Gate
from rag.runs.parity import Parity
from rag.runs.quality.estimates import Estimates
from rag.runs.quality.judge_job import Judgements
from rag.runs.quality.memory_effect import MemoryTrials
from rag.runs.quality.preference_job import PairwiseComparisons
from rag.runs.rankings import Rankings
from rag.runs.recipe_names import RecipeNames
from rag.runs.reporting import Reports
from rag.runs.suggestions import Suggestions
from rag.services import Services
from rag.storage.conversations import SessionOwner


class Runs(
    Evaluator,
    Evaluations,
    MemoryTrials,
    Judgements,
    PairwiseComparisons,
    Decisions,
    Reports,
    Gate,
    Estimates,
    Rankings,
    Parity,
    RecipeNames,
    Suggestions,
):
    """The runs of one knowledge base."""

    def __init__(
        self,
        services: Services,
        jobs: Jobs,
        base_id: int,
        visitor: SessionOwner,
        failures: Callable[[Run], FailureNote | None],
    ) -> None:
        """``failures`` gives the diagnosis of a run, if there is one."""
        self._services = services
        self._jobs = jobs
        self._database = services.database
        self._base_id = base_id
        self._visitor = visitor
        self._failures = failures
