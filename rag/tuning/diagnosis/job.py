"""Diagnoses of a knowledge base: made at once, or in the background and kept."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection

from pydantic import TypeAdapter

from rag.documents.build_job import build_indexes
from rag.errors import NotFound
from rag.evaluation.report import FailureNote
from rag.evaluation.report.words import counted
from rag.jobs import JobRow, Jobs, Reporter
from rag.operation import operation
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.results import Run
from rag.services import Services
from rag.storage import bases, builds
from rag.tuning.diagnosis.causes import CAUSES
from rag.tuning.diagnosis.diagnosis import Diagnosis, diagnosed
from rag.tuning.diagnosis.fixes import described_changes, index_changes_for
from rag.tuning.state import state

JOB = "diagnose"
_STORED = TypeAdapter(Diagnosis)


class Diagnoses:
    """Diagnoses of question sets; the last of each set that ran as a job is kept."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation")
    def diagnose(self, set_name: str, recipe: Recipe) -> Diagnosis:
        """Find the first cause of each failed question of a set, and try fixes.

        Raises NotFound for an unknown set, InvalidInput when no question is labelled, or for a
        recipe with tools.
        """
        return diagnosed(self._services, self._base_id, set_name, recipe)

    @operation("editor", audit="evaluation")
    def start(self, set_name: str, recipe: Recipe, *, rebuild: bool = False) -> int:
        """Queue a diagnosis; return the job, also where it is queued already.

        With ``rebuild``, it builds the changes of the index that it proposes, and tries them too.
        Builds that gain nothing are deleted again.
        """
        payload = {"set": set_name, "recipe": recipe.model_dump(mode="json"), "rebuild": rebuild}
        digest = hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()
        about = {"set": set_name, "work": digest}
        with self._services.database.read() as connection:
            rows = builds.list_builds(connection, self._base_id)
        payload["builds"] = [row.hash for row in rows]  # a job that is taken up again deletes none
        title = f"Finding out why questions of {set_name} fail"
        return self._jobs.submit_once(self._base_id, JOB, title, about, payload)

    @operation("viewer", models="none")
    def latest(self, set_name: str) -> JobRow | None:
        """Return the last diagnosis job of a set, at work or over."""
        return self._jobs.latest(self._base_id, JOB, {"set": set_name})

    @operation("viewer", models="none")
    def result(self, set_name: str) -> Diagnosis | None:
        """Return the result of the last finished diagnosis of a set."""
        stored = self._jobs.result(self._base_id, JOB, {"set": set_name})
        return None if stored is None else _STORED.validate_python(stored)

    @operation("viewer", models="none")
    def is_current(self, diagnosis: Diagnosis, recipe: Recipe) -> bool:
        """Whether a diagnosis is of this recipe, and of the questions and documents of now."""
        try:
            now = state(self._services, self._base_id, diagnosis.question_set, diagnosis.recipe)
        except NotFound:  # the question set is gone
            return False
        return _retrieval(diagnosis.recipe) == _retrieval(recipe) and now == diagnosis.state


def _retrieval(recipe: Recipe) -> tuple[IndexRecipe, SearchRecipe, int]:
    """The parts of a recipe that a diagnosis depends on."""
    return recipe.index, recipe.search, recipe.answer.context_tokens


def failure_note(diagnoses: Diagnoses, run: Run) -> FailureNote | None:
    """The last diagnosis of a run's set for its report; None if it is of something else."""
    diagnosis = diagnoses.result(run.question_set)
    if diagnosis is None or run.recipe is None or not diagnoses.is_current(diagnosis, run.recipe):
        return None
    return FailureNote(
        diagnosis.headline,
        tuple(
            (CAUSES[cause].title, count, diagnosis.advice(cause))
            for cause, count in diagnosis.causes.items()
        ),
        tuple(
            (described_changes(diagnosis.recipe, fix.changes), fix.comparison.sentence)
            for fix in diagnosis.trials.fixes
        ),
    )


def _delete_useless(
    services: Services, base_id: int, diagnosis: Diagnosis, before: Collection[str]
) -> None:
    """Delete the builds that were made to try them and that no fix is of.

    Documents that are added later would have to be embedded for them.
    """
    recipe = diagnosis.recipe
    tried = {
        recipe.with_fields(change).index.hash
        for cause in diagnosis.causes
        for change in index_changes_for(cause, recipe)
    }
    helping = {recipe.with_fields(fix.changes).index.hash for fix in diagnosis.trials.fixes}
    with services.database.write() as connection:
        saved = bases.by_id(connection, base_id).recipe.index.hash
        useless = tried - helping - {saved, *before}
        for build_hash in useless:
            builds.remove(connection, base_id, build_hash)
    for build_hash in useless:
        services.forget_build(base_id, build_hash)


def diagnose(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Does a job of kind "diagnose"; taken up again, it starts over."""
    reporter.report(0, 0, "reading the index")
    recipe = Recipe.parse(job.payload["recipe"])

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, "examining questions and trying fixes")

    set_name = str(job.payload["set"])
    outcome = diagnosed(services, job.base_id, set_name, recipe, on_progress)
    if job.payload.get("rebuild") and outcome.rebuild is not None:
        indexes = [recipe.with_fields(change).index for change in outcome.rebuild.changes]
        build_indexes(services, job, reporter, indexes)
        outcome = diagnosed(services, job.base_id, set_name, recipe, on_progress)
    if job.payload.get("rebuild"):
        _delete_useless(services, job.base_id, outcome, job.payload["builds"])
    reporter.result = _STORED.dump_python(outcome, mode="json")
    helped = counted(len(outcome.trials.fixes), "change")
    return f"{outcome.headline} {helped} helped on the tuning questions."
