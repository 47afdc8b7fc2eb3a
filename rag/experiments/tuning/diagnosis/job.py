"""Diagnoses of a knowledge base: made at once, or in the background and kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rag.errors import Cancelled, ConnectionLost, InvalidInput, NotFound
from rag.evaluation.report import FailureNote
from rag.evaluation.report.words import counted
from rag.experiments.runs.quality.failing import newest_scored
from rag.experiments.tuning.diagnosis.causes import CAUSES, FailedQuestion, Finding, advice
from rag.experiments.tuning.diagnosis.diagnosis import Diagnosis, diagnosed
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.experiments.tuning.diagnosis.fixes import described_changes
from rag.experiments.tuning.diagnosis.trial_builds import PartOfProgress, TrialBuilds
from rag.experiments.tuning.sweeper import Sweeper
from rag.experiments.tuning.tuner import read_measured, state
from rag.library.documents.stored import documents_hash_now
from rag.operation import operation
from rag.recipe import IndexRecipe, Recipe, SearchRecipe
from rag.services.jobs import Job, JobRow, Jobs, Reporter, StoredRecipe
from rag.services.jobs.reporter import TurnOver
from rag.services.services import Services
from rag.storage import jobs as rows
from rag.storage import questions as question_rows
from rag.storage import runs
from rag.types import Assessment, Question, Trace
from rag.types.results import Run

_FIRST, _BUILT = 0.1, 0.9
"""Shares of a job that builds: when its first diagnosis is done, and when its builds are."""


class Diagnose(Job[Diagnosis]):
    """A diagnosis of the questions of a set that fail."""

    kind = "diagnose"
    set: str
    recipe: StoredRecipe
    rebuild: bool = False


class Diagnoses:
    """Diagnoses of question sets; the last of each set that ran as a job is kept.

    ``permit_recipe`` raises for a recipe whose index costs too much to build.
    """

    def __init__(
        self, services: Services, jobs: Jobs, base_id: int, permit_recipe: Callable[[Recipe], None]
    ) -> None:
        self._services = services
        self._jobs = jobs
        self._base_id = base_id
        self._permit_recipe = permit_recipe

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
        Builds that gain nothing are deleted again. Raises NotAllowed where the principal may not
        spend what that costs.
        """
        if rebuild:
            self._permit_recipe(recipe)
        job = Diagnose(set=set_name, recipe=recipe, rebuild=rebuild, about={"set": set_name})
        title = f"Finding out why questions of {set_name} fail"
        return self._jobs.submit_once(self._base_id, title, job.with_digest())

    @operation("viewer", models="none")
    def latest(self, set_name: str) -> JobRow | None:
        """Return the last diagnosis job of a set, at work or over."""
        return self._jobs.latest(self._base_id, Diagnose, set=set_name)

    @operation("viewer", models="none")
    def result(self, set_name: str) -> Diagnosis | None:
        """Return the result of the last finished diagnosis of a set; None for an old version's.

        Its advice goes by the models that are set up now.
        """
        diagnosis = self._jobs.result(self._base_id, Diagnose, set=set_name)
        if diagnosis is None:
            return None
        can_rerank = self._services.models.can_rerank(diagnosis.recipe.answer)
        return replace(diagnosis, can_rerank=can_rerank)

    @operation("viewer", models="none")
    def current(self, set_name: str, recipe: Recipe) -> Diagnosis | None:
        """Return the last finished diagnosis of a set if it is of this recipe, and of now."""
        diagnosis = self.result(set_name)
        return None if diagnosis is None or self.changes(diagnosis, recipe) else diagnosis

    @operation("viewer")
    def first_cause(
        self, trace: Trace, recipe: Recipe, assessment: Assessment | None = None
    ) -> FirstCause | None:
        """Return the first cause by which the question of a trace fails; None if it passes.

        A question that a set labels is examined as a diagnosis does, or by the current one.
        ``assessment`` is the state of its answer: one without labels fails by that, and one that
        no document answers does not. Raises ProviderError, or InvalidInput for a recipe with tools.
        """
        labelled = labelled_in(self._services, self._base_id, trace.question)
        for name, question in labelled.items():
            diagnosis = self.current(name, recipe)
            if diagnosis is None:
                failed = examined(self._services, self._base_id, name, question.id, recipe)
            else:
                failed = diagnosis.failed(question.id)
            if failed is not None:
                about = failed.cause
                fix = diagnosis.advice(about) if diagnosis else advice(about, recipe)
                return FirstCause(failed.finding, fix, failed.passage, failed.document)
        if not all(question.answerable for question in labelled.values()):
            return None
        finding = as_answered(trace, assessment)
        if finding is None:
            return None
        unknown = " If no passage does, add a document." if finding.cause == "doubted" else ""
        return FirstCause(finding, advice(finding.cause, recipe) + unknown)

    @operation("viewer", models="none")
    def changes(self, diagnosis: Diagnosis, recipe: Recipe) -> tuple[str, ...]:
        """Name the inputs of a diagnosis that are not those of now; empty for a current one."""
        try:
            now = state(self._services, self._base_id, diagnosis.question_set, diagnosis.recipe)
        except NotFound:  # the question set is gone
            now = ""
        with self._services.database.read() as connection:
            documents_now = documents_hash_now(connection, self._base_id)
            all_runs = runs.list_runs(connection, self._base_id, diagnosis.question_set)
            scored = newest_scored(all_runs, recipe, documents_now)
            pair = [diagnosis.scored_run, scored.id if scored else ""]
            figures = runs.figures(connection, pair) if pair[0] != pair[1] else {}
        changed = []
        if _retrieval(diagnosis.recipe) != _retrieval(recipe):
            changed.append("the recipe")
        if now != diagnosis.state:
            changed.append("the questions or the documents")
        then, since = (_of_answers(figures.get(name, {})) for name in pair)
        if not changed and then != since:
            same = diagnosis.recipe == recipe
            changed.append("the scores of answers" if same else "the recipe of the answers")
        return tuple(changed)


def _of_answers(figures: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, float]]:
    """The measures of answers by question: those of rankings have a cutoff."""
    return {
        question: {name: value for name, value in values.items() if "@" not in name}
        for question, values in figures.items()
    }


def _retrieval(recipe: Recipe) -> tuple[IndexRecipe, SearchRecipe, int]:
    """The parts of a recipe that a diagnosis depends on."""
    return recipe.index, recipe.search, recipe.answer.context_tokens


def failure_note(diagnoses: Diagnoses, run: Run) -> FailureNote | None:
    """The last diagnosis of a run's set for its report; None if it is of something else."""
    diagnosis = diagnoses.current(run.question_set, run.recipe) if run.recipe else None
    if diagnosis is None:
        return None
    return FailureNote(
        diagnosis.headline,
        tuple(
            (CAUSES[cause].title, count, diagnosis.advice(cause))
            for cause, count in diagnosis.causes.items()
        ),
        tuple(
            (described_changes(diagnosis.recipe, fix.changes), fix.sentence)
            for fix in diagnosis.trials.fixes
        ),
    )


def _rebuilt(
    services: Services,
    job: JobRow,
    reporter: Reporter,
    diagnose_now: Callable[[PartOfProgress, float | None], Diagnosis],
) -> Diagnosis:
    """The diagnosis with the changes of the index built that it proposes.

    Builds without gain are deleted, and after an error all of them.
    """
    first, last = PartOfProgress(reporter, 0.0, _FIRST), PartOfProgress(reporter, _BUILT)
    trial_builds = TrialBuilds(services, job, reporter, PartOfProgress(reporter, _FIRST, _BUILT))
    try:
        if not trial_builds.planned:
            diagnosis = diagnose_now(first, math.inf)
            if diagnosis.rebuild is None:
                return diagnosis
            changes = diagnosis.rebuild.changes
            trial_builds.plan([diagnosis.recipe.with_fields(change).index for change in changes])
        trial_builds.complete()
        outcome = diagnose_now(last, None)
        tried, fixes = outcome.trials.indexes, outcome.trials.fixes
        helping = {outcome.recipe.with_fields(fix.changes).index.hash for fix in fixes}
        trial_builds.delete(set(tried) - helping)
        return replace(outcome, untried=len(trial_builds.registered - set(tried)))
    except Exception as error:
        if not _goes_on(services, job, error):
            trial_builds.abandon()
        raise


def _goes_on(services: Services, job: JobRow, error: Exception) -> bool:
    """Whether a job that raised an error is taken up again, here or by another process."""
    if isinstance(error, TurnOver | ConnectionLost):
        return True
    if not isinstance(error, Cancelled):
        return False
    return not services.database.fetch(rows.get, job.id).cancel  # the process shuts down


def diagnose(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "diagnose"; taken up again, it goes on with its builds."""
    reporter.report(job.done, job.total, "reading the index")
    request = Diagnose.of(job)

    def diagnose_now(progress: PartOfProgress, seconds_left: float | None = None) -> Diagnosis:
        def on_progress(done: int, total: int) -> None:
            progress.report(done, total, "examining questions and trying fixes", seconds_left)

        return diagnosed(services, job.base_id, request.set, request.recipe, on_progress)

    if request.rebuild:
        outcome = _rebuilt(services, job, reporter, diagnose_now)
    else:
        outcome = diagnose_now(PartOfProgress(reporter))
    reporter.result = Diagnose.dump_result(outcome)
    helped = f"{counted(len(outcome.trials.fixes), 'change')} helped on the tuning questions."
    return " ".join(filter(None, [outcome.headline, helped, outcome.note]))


# The first cause by which one question fails: the same, with the same fix, at every door.


@dataclass(frozen=True, slots=True)
class FirstCause:
    """The first cause that a check finds, and what helps against it.

    ``passage`` is the id of the relevant passage that was looked at, "" for none, with its
    ``document``.
    """

    finding: Finding
    advice: str
    passage: str = ""
    document: str = ""

    @property
    def title(self) -> str:
        """The cause in words."""
        return CAUSES[self.finding.cause].title


def labelled_in(services: Services, base_id: int, text: str) -> dict[str, Question]:
    """Return a question with its labels by the sets that have it."""
    with services.database.read() as connection:
        return {
            found.name: question
            for found in question_rows.sets_that_ask(connection, base_id, text)
            for question in question_rows.usable(connection, base_id, found.id)
            if question.text == text and (question.evidence or not question.answerable)
        }


def examined(
    services: Services, base_id: int, set_name: str, question_id: str, recipe: Recipe
) -> FailedQuestion | None:
    """Examine one question as a diagnosis of its set does; None if it passes."""
    question_set, _ = read_measured(services, base_id, set_name, recipe)
    try:
        sweeper = Sweeper(services, question_set, {question_id})
    except InvalidInput:  # no question of the set has a label: no diagnosis examines it
        return None
    if not sweeper.questions:  # this one has none that says what is relevant
        return None
    failed = Examination(services, base_id, sweeper, recipe).failed(lambda _done, _total: None)
    return failed[0] if failed else None


def as_answered(trace: Trace, assessment: Assessment | None) -> Finding | None:
    """Return why a question without labels got no answer without doubt; None if it got one."""
    refused, below = trace.stage("refuse"), trace.stage("threshold")
    if refused is not None and refused.dropped and not trace.hits:
        evidence = refused.note.partition(": ")[2]
        return Finding("refused", f"The question was refused as off-topic: {evidence}.")
    if below is not None and below.dropped and not trace.hits:
        relevance = max(drop.hit.relevance for drop in below.dropped)
        limit = trace.threshold or 0.0
        figures = {"relevance": relevance, "threshold": limit}
        evidence = (
            f"The most relevant passage has {relevance:.3f}, below the threshold of {limit:.3f}."
        )
        return Finding("threshold", evidence, figures)
    if assessment is not None and assessment.state == "doubtful":
        return Finding("doubted", assessment.reason)
    return None
