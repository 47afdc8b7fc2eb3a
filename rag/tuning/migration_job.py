"""A move to another embedder as jobs: check, build, measure; after the switch, compare rankings."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from rag.documents.build_job import build_index
from rag.errors import InvalidInput, NotFound
from rag.jobs import JobRow, Jobs, Reporter
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.runs.evaluator import Evaluator, new_run_id
from rag.runs.history import RunComparison, RunHistory
from rag.services import Services
from rag.storage import bases, builds
from rag.storage import jobs as job_rows
from rag.storage import questions as question_rows
from rag.tuning.embedder_migration import (
    COMPARED,
    MEASURED,
    SAMPLE,
    SWITCHED,
    EmbedderMigration,
    MigrationPlan,
    MigrationStep,
    measure_both,
    steps_after,
)
from rag.tuning.embedder_switch import EmbedderSwitch, save_switched
from rag.tuning.state import state

JOB, PARITY = "migrate-embedder", "compare-switch"
_UNITS = 10_000  # of progress in a job
_SECONDS_PER_QUESTION = 0.05  # what a share of the progress goes by; the time left is measured
_SECONDS_PER_TOKEN = 1e-4  # of an embedder that was never measured


@dataclass(frozen=True, slots=True)
class Migration:
    """A measured migration; ``runs`` are those of the present and the new embedder.

    ``plan`` was made before the build, which took ``seconds``. ``state`` names the questions and
    documents that it was measured on.
    """

    question_set: str
    state: str
    plan: MigrationPlan
    runs: tuple[str, str]
    seconds: float


@dataclass(frozen=True, slots=True)
class SwitchParity:
    """Questions whose ranking after the switch is the measured one; ``runs`` are after, before."""

    runs: tuple[str, str]
    equal: int
    questions: int

    @property
    def sentence(self) -> str:
        """The agreement in words."""
        return f"{self.equal:,} of {self.questions:,} rankings are those measured."


_STORED = TypeAdapter(Migration)
_PLAN = TypeAdapter(MigrationPlan)
_STORED_PARITY = TypeAdapter(SwitchParity)


class Migrations:
    """The move of one knowledge base to another embedder, by jobs; the last one is kept."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation")
    def start(self, set_name: str, recipe: Recipe, sample: int = SAMPLE) -> int:
        """Queue the check, the build and the measurement of a recipe from ``target``.

        Return the job, also where it is queued already. Raises NotFound for an unknown set,
        InvalidInput for one without labels, for a sample below 1, for the present embedder or while
        documents lack the present index, MissingDependency for an embedder that is not installed.
        """
        if sample < 1:
            raise InvalidInput("A check needs at least one vector.", "Use 100, for example.")
        self._services.models.require(recipe.index)
        Evaluator(self._services, self._base_id).questions(set_name, refusals_alone=True)
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
            lacking = len(builds.missing(connection, self._base_id, saved.index.hash))
        if saved.index.embedder == recipe.index.embedder:
            raise InvalidInput(
                f"This knowledge base uses {recipe.index.embedder} already.",
                "Name another embedder.",
            )
        if lacking:
            raise InvalidInput(
                f"{lacking:,} documents are not in the present index, so nothing can be compared.",
                "Wait until they are, or build the rest on the Documents page.",
            )
        # The runs are named here: who takes the job up finds those that are stored.
        payload = {
            "set": set_name,
            "recipe": recipe.model_dump(mode="json"),
            "sample": sample,
            "runs": [new_run_id(), new_run_id()],
        }
        work = f"{set_name} {saved.hash} {recipe.hash} {sample}"
        about = {"work": hashlib.sha256(work.encode()).hexdigest()}
        title = f"Measuring the move to {recipe.index.embedder}"
        return self._jobs.submit_once(self._base_id, JOB, title, about, payload)

    @operation("viewer", models="none")
    def latest(self) -> JobRow | None:
        """The last job that measures a migration, at work or over."""
        return self._jobs.latest(self._base_id, JOB, {})

    @operation("viewer", models="none")
    def result(self) -> Migration | None:
        """The last measured migration, with the steps of its plan as they are now."""
        stored = self._jobs.result(self._base_id, JOB, {})
        if stored is None:
            return None
        migration = _STORED.validate_python(stored)
        plan = replace(migration.plan, steps=self._steps(migration))
        return replace(migration, plan=plan)

    @operation("viewer", models="none")
    def is_current(self, migration: Migration) -> bool:
        """Whether questions and documents are those that a migration was measured on."""
        try:
            now = state(self._services, self._base_id, migration.question_set, migration.plan.after)
        except NotFound:  # the question set is gone
            return False
        return now == migration.state

    @operation("viewer", models="none")
    def effect(self, migration: Migration) -> RunComparison:
        """Compare both runs question by question. Raises NotFound where one was deleted."""
        before, after = migration.runs
        return RunHistory(self._services.database, self._base_id).compare([after], before)[0]

    @operation("editor", audit="recipe", audited_arguments=ALL)
    def switch(self) -> int:
        """Save the recipe of the last measured migration, and queue the comparison after it.

        Return the job. Raises NotFound without a measured migration, InvalidInput if the new
        embedder is worse, if another recipe was saved meanwhile, or documents lack the index.
        """
        migration = self.result()
        if migration is None:
            raise NotFound("No move to another embedder was measured.", "Measure one first.")
        figures = self.effect(migration).figures
        if figures.verdict == "worse":
            raise InvalidInput(
                f"No switch: {figures.headline}", "Save the recipe yourself to switch anyway."
            )
        plan = migration.plan
        self._services.models.require(plan.after.index)
        title = f"Comparing the rankings of {plan.after.index.embedder} after the switch"
        payload = {"set": migration.question_set, "measured": migration.runs[1], "about": {}}
        with self._services.database.write() as connection:
            save_switched(connection, self._base_id, plan.after, plan.before)
            run = {"run": new_run_id()}
            job = job_rows.create(connection, self._base_id, PARITY, title, payload | run)
        self._jobs.wake()
        return job

    @operation("viewer", models="none")
    def comparing(self) -> JobRow | None:
        """The last job that compares rankings after a switch, at work or over."""
        return self._jobs.latest(self._base_id, PARITY, {})

    @operation("viewer", models="none")
    def parity(self, migration: Migration) -> SwitchParity | None:
        """Agreement of the rankings after the switch; None before it was compared."""
        job = self.comparing()
        if job is None or job.status != "done" or job.payload["measured"] != migration.runs[1]:
            return None
        return _STORED_PARITY.validate_python(self._jobs.result(self._base_id, PARITY, {}))

    def _steps(self, migration: Migration) -> tuple[MigrationStep, ...]:
        with self._services.database.read() as connection:
            saved = bases.by_id(connection, self._base_id).recipe
        if saved.index.hash != migration.plan.after.index.hash:
            return steps_after(migration.plan.after, MEASURED)
        done = COMPARED if self.parity(migration) else SWITCHED
        return steps_after(migration.plan.after, done)


class _BuildPart:
    """The share of a migration's progress that its build has.

    With all that is built it keeps the plan, whose costs are those from before the build.
    """

    def __init__(
        self, reporter: Reporter, share: float, measuring: float, kept: Mapping[str, Any]
    ) -> None:
        """``measuring`` are the seconds that follow the build."""
        self._reporter = reporter
        self._share = share
        self._measuring = measuring
        self._kept = kept
        self._started = time.monotonic()
        self.result: Any = None

    @property
    def seconds(self) -> float:
        """The time of the build so far, in all turns of the job."""
        return float(self._kept["seconds"]) + time.monotonic() - self._started

    def report(
        self, done: int, total: int, message: str, seconds_left: float | None = None
    ) -> None:
        part = int(self._share * _UNITS * done / max(total, 1))
        left = None if seconds_left is None else seconds_left + self._measuring
        self._reporter.report(part, _UNITS, f"building the index: {message}", left)

    def carried(self) -> Any:
        return self._kept.get("built")

    def give_way(self) -> None:
        self._reporter.keep({**self._kept, "built": self.result, "seconds": self.seconds})
        self._reporter.give_way()

    def cancelled(self) -> bool:
        return self._reporter.cancelled()


def migrate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "migrate-embedder"; what is built and measured stays."""
    payload, base_id = job.payload, job.base_id
    recipe, set_name = Recipe.parse(payload["recipe"]), str(payload["set"])
    kept = reporter.carried()
    if not kept:
        reporter.report(0, 0, "checking the stored vectors")
        plan = EmbedderMigration(services, base_id).plan(recipe, int(payload["sample"]))
        kept = {"plan": _PLAN.dump_python(plan, mode="json"), "seconds": 0.0}
        reporter.keep(kept)
    plan = _PLAN.validate_python(kept["plan"])
    with services.database.read() as connection:
        lacks = bool(builds.missing(connection, base_id, recipe.index.hash))
        questions = question_rows.get_question_set(connection, base_id, set_name).questions
    measuring = 2 * questions * _SECONDS_PER_QUESTION
    building = _build_seconds(plan) if lacks or "built" in kept else 0.0
    share = building / (building + measuring) if building else 0.0
    seconds = float(kept["seconds"])
    if lacks:
        part = _BuildPart(reporter, share, measuring, kept)
        floor = job.done / (job.total or 1) / share
        build_index(services, base_id, recipe.index, part, min(floor, 1.0))
        seconds = part.seconds
    reporter.result = None
    measured_on = state(services, base_id, set_name, recipe)

    def on_progress(done: int, total: int) -> None:
        units = int(_UNITS * (share + (1 - share) * done / max(total, 1)))
        embedder = (plan.before if 2 * done < total else plan.after).index.embedder
        reporter.report(units, _UNITS, f"measuring {embedder}")

    ids = tuple(map(str, payload["runs"]))
    measure_both(services, base_id, set_name, (plan.before, plan.after), ids, on_progress)
    outcome = Migration(set_name, measured_on, plan, (ids[0], ids[1]), seconds)
    reporter.result = _STORED.dump_python(outcome, mode="json")
    history = RunHistory(services.database, base_id)
    return history.compare([ids[1]], ids[0])[0].figures.headline


def _build_seconds(plan: MigrationPlan) -> float:
    """The expected seconds of the build, by which it has its share of the progress."""
    cost = plan.cost
    seconds = cost.tokens * _SECONDS_PER_TOKEN if cost.seconds is None else cost.seconds
    return max(seconds, 1.0)


def compare_switch(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "compare-switch"; taken up again, it starts over."""
    reporter.report(0, 0, "reading the index")

    def on_progress(done: int, total: int) -> None:
        reporter.report(done, total, f"{done:,} of {total:,} questions")

    switch = EmbedderSwitch(services, job.base_id)
    run_id = str(job.payload["run"])
    parity = switch.verify(str(job.payload["set"]), on_progress, run_id)
    outcome = SwitchParity((parity.run, parity.other), parity.equal, len(parity.questions))
    reporter.result = _STORED_PARITY.dump_python(outcome, mode="json")
    return outcome.sentence
