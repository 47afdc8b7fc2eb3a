"""Probabilities of relevance, learned in the background."""

from __future__ import annotations

from rag.experiments.tuning.calibrator import Calibrator
from rag.experiments.tuning.state import state
from rag.operation import operation
from rag.recipe import Recipe
from rag.services.jobs import Job, JobRow, Jobs, Reporter, StoredRecipe
from rag.services.services import Services


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
