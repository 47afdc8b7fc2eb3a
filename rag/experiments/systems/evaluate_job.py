"""Evaluations of stored systems in the background."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pydantic import BaseModel

from rag.errors import Cancelled, ProviderUnavailable, TouchstoneError
from rag.experiments.runs.evaluator import DEFAULT_CUTOFFS, Evaluation, new_run_id
from rag.experiments.runs.gate import GateResult, checked
from rag.experiments.systems.callables import FailedRetrieval
from rag.experiments.systems.endpoints import HttpSystem
from rag.experiments.systems.formats.tables import Returned
from rag.experiments.systems.measuring import SystemRuns
from rag.experiments.systems.registry import Systems, asking
from rag.input_rules import storable
from rag.operation import ALL, operation
from rag.services.jobs import Job, JobRow, Jobs, Reporter
from rag.services.services import Services
from rag.storage import runs
from rag.types import ProgressCallback, Question
from rag.types.results import SystemSource

MOST_FAILURES = 5
"""Failures of the first questions that end an evaluation: the system doesn't work at all."""
_TRIES = 4
_LONGEST_WAIT = 60.0
_SLICE = 0.5  # seconds of a wait between two looks at whether the job was cancelled

Sleep = Callable[[float], None]


class SystemVersion(BaseModel):
    """The version of a system that is evaluated."""

    name: str
    version: int
    hash: str


class EvaluateSystem(Job[None]):
    """An evaluation of a stored system; the run is named here, as in ``Evaluate``."""

    kind = "evaluate-system"
    set: str
    run: str
    system: SystemVersion
    definition: HttpSystem
    cutoffs: Sequence[int]


class SystemEvaluations(Systems, SystemRuns):
    """The systems of one knowledge base, and their evaluations."""

    def __init__(
        self,
        services: Services,
        jobs: Jobs,
        base_id: int,
        *,
        may_name_keys: bool,
        may_run_commands: bool,
    ) -> None:
        super().__init__(
            services, base_id, may_name_keys=may_name_keys, may_run_commands=may_run_commands
        )
        self._jobs = jobs

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def start_evaluation(
        self, set_name: str, name: str, cutoffs: Sequence[int] = DEFAULT_CUTOFFS
    ) -> int:
        """Queue an evaluation; return the job, also where one is at the same already.

        Raises NotFound for a set or a system that is not there, InvalidInput without labels.
        """
        stored = self.runnable(name)
        self.questions(set_name)
        job = EvaluateSystem(
            set=set_name,
            run=new_run_id(),
            system=SystemVersion(name=name, version=stored.version, hash=stored.hash),
            definition=stored.definition,
            cutoffs=cutoffs,
            about={
                "set": set_name,
                "system": name,
                "hash": stored.hash,
                "cutoffs": " ".join(map(str, cutoffs)),
            },
        )
        return self._jobs.submit_once(self._base_id, f"Evaluating {name} on {set_name}", job)

    @operation("viewer")
    def latest_evaluation(self, set_name: str, name: str) -> JobRow | None:
        """The last evaluation of a system on a set, at work or over. Raises NotFound."""
        about = {"set": set_name, "system": name, "hash": self.get(name).hash}
        return self._jobs.latest(self._base_id, EvaluateSystem, **about)

    @operation("editor", audit="evaluation")
    def gate(
        self,
        set_name: str,
        name: str,
        least: Mapping[str, float],
        baseline_id: str | None = None,
        tolerance: float = 0.0,
        on_progress: ProgressCallback = lambda _done, _total: None,
        *,
        allow_trivial: bool = False,
    ) -> GateResult:
        """Evaluate a system (the run is kept) and compare it with demands, as ``Gate.gate`` does.

        Raises NotFound, InvalidInput, FailedRetrieval.
        """
        stored = self.runnable(name)

        def measure(cutoffs: Sequence[int]) -> Evaluation:
            return measured(
                self._services,
                self._base_id,
                set_name,
                stored.source,
                stored.definition,
                cutoffs,
                on_progress,
                on_progress,
                is_gate=True,
            )

        demands = set_name, least, baseline_id, tolerance
        return checked(
            self._services.database, self._base_id, *demands, measure, allow_trivial=allow_trivial
        )


def evaluate_system(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "evaluate-system"; one whose run is stored already has only to end."""
    request = EvaluateSystem.of(job)
    stored = services.database.fetch(runs.run_exists, request.run)
    if stored:
        return f"Run {request.run} is stored."

    # Half of the work is to ask, the other half to locate what came back.
    def on_asked(done: int, total: int) -> None:
        reporter.report(done, 2 * total, f"{done:,} of {total:,} questions asked")

    def on_located(done: int, total: int) -> None:
        reporter.report(total + done, 2 * total, f"{done:,} of {total:,} questions located")

    evaluated = request.system
    evaluation = measured(
        services,
        job.base_id,
        request.set,
        SystemSource("http", evaluated.name, evaluated.hash, evaluated.version),
        request.definition,
        request.cutoffs,
        on_asked,
        on_located,
        request.run,
    )
    system = evaluation.run.system
    failed = len(system.errors) if system else 0
    questions = "1 question" if failed == 1 else f"{failed:,} questions"
    return f"Run {request.run} is stored." + (f" {questions} failed." if failed else "")


def measured(
    services: Services,
    base_id: int,
    set_name: str,
    source: SystemSource,
    system: HttpSystem,
    cutoffs: Sequence[int],
    on_asked: ProgressCallback,
    on_located: ProgressCallback,
    run_id: str | None = None,
    *,
    is_gate: bool = False,
) -> Evaluation:
    """Ask a system the questions of a set, locate what it returned, and store the run.

    Raises FailedRetrieval, and what ``on_asked`` and ``on_located`` raise.
    """
    started, system_runs = time.perf_counter(), SystemRuns(services, base_id)

    questions = system_runs.questions(set_name)
    with asking(services, base_id, system) as ask_system:
        retrievals, errors = ask_all(ask_system, questions, on_asked)
    return system_runs.evaluate(
        set_name,
        retrievals,
        replace(source, errors=errors),
        cutoffs,
        on_located,
        run_id=run_id,
        spent=time.perf_counter() - started,
        is_gate=is_gate,
    ).evaluation


def ask_all(
    ask: Callable[[str], Returned],
    questions: Sequence[Question],
    on_progress: ProgressCallback,
    sleep: Sleep = time.sleep,
) -> tuple[tuple[Returned, ...], dict[str, str]]:
    """Ask all questions; return what came back, and the errors by question id.

    A question that fails does not end the others.
    Waits that the system asks for are kept, up to a minute each. Raises FailedRetrieval if all of
    the first ``MOST_FAILURES`` fail, and what ``on_progress`` raises.
    """
    retrievals, errors = list[Returned](), dict[str, str]()
    for place, question in enumerate(questions):
        on_progress(place, len(questions))

        def wait(seconds: float, place: int = place) -> None:
            while seconds > 0:
                on_progress(place, len(questions))
                sleep(min(seconds, _SLICE))
                seconds -= _SLICE

        try:
            returned = _patiently(ask, question.text, wait)
        except Cancelled:
            raise
        except TouchstoneError as error:
            errors[question.id] = storable(error.message)
            if not retrievals and len(errors) >= min(MOST_FAILURES, len(questions)):
                raise FailedRetrieval(
                    f"The first {len(errors)} questions failed. {errors[question.id]}", error.hint
                ) from error
        else:
            retrievals.append(replace(returned, question_id=question.id))
    return tuple(retrievals), errors


def _patiently(ask: Callable[[str], Returned], question: str, wait: Sleep) -> Returned:
    """Ask again after the wait that a busy system names. Raises what ``ask`` raises."""
    for _ in range(_TRIES - 1):
        try:
            return ask(question)
        except ProviderUnavailable as error:
            if error.retry_after is None or error.retry_after > _LONGEST_WAIT:
                raise
            wait(error.retry_after)
    return ask(question)
