"""The job in which a language model grades the hits of a run; each grade is kept as it comes."""

from __future__ import annotations

from dataclasses import dataclass

from rag.errors import InvalidInput
from rag.evaluation.judges import RUBRICS, Judgement, NoGrade
from rag.jobs import JobRow, Jobs, Reporter
from rag.operation import operation
from rag.runs.quality.estimates import CUTOFF
from rag.runs.quality.judges import judge_named
from rag.runs.quality.model_calls import ModelCalls
from rag.runs.quality.spending import UNLIMITED, Budget, BudgetedJob
from rag.runs.stored import StoredRuns
from rag.runs.version import code_version
from rag.services import Services
from rag.storage import documents, passages, runs
from rag.storage.quality import judgements as rows
from rag.storage.quality.judgements import StoredJudgement
from rag.types import Usage

_Reply = Judgement | Usage  # what was spent, where no grade came of it
_SHOWN = 4000  # characters of a document that is judged whole


class Judge(BudgetedJob):
    """The judging of the first hits of every question of a run."""

    kind = "judge"
    run: str
    judge: str
    repeat: int = 1


class Judgements(StoredRuns):
    """Judgements by models of the runs of one knowledge base."""

    _services: Services
    _jobs: Jobs

    @operation("editor", audit="evaluation")
    def start_judging(
        self, run_id: str, judge: str, *, repeat: int = 1, budget: Budget = UNLIMITED
    ) -> int:
        """Queue the judging of the first ten hits of every question of a run; return the job.

        What was judged already stays. Each hit is judged ``repeat`` times, which gives a spread;
        the ``budget`` of this go counts grades. Raises NotFound, InvalidInput, ProviderError.
        """
        judge_named(self._services, judge)
        if repeat < 1:
            raise InvalidInput(
                "The number of judgements must be at least 1.",
                "Leave it out, or give a larger number.",
            )
        budget.require()
        with self._services.database.read() as connection:
            run = runs.get(connection, self._base_id, run_id)
        about = {"run": run.id, "judge": judge}
        job = Judge(**about, repeat=repeat, **budget.fields, about=about)
        return self._jobs.submit_once(self._base_id, f"Judging hits of {run.question_set}", job)

    @operation("guest")
    def latest_judging(self, run_id: str, judge: str) -> JobRow | None:
        """The last job of a judge on a run."""
        return self._jobs.latest(self._base_id, Judge, run=run_id, judge=judge)


@dataclass(frozen=True, slots=True)
class _Hit:
    question_id: str
    question: str
    item: str
    text: str
    repetition: int


def judge_hits(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "judge"; grades that an earlier process stored stay."""
    request = Judge.of(job)
    run_id, judge = request.run, request.judge
    judge_model, rubric = judge_named(services, judge), RUBRICS["relevance"]
    todo, judged = _todo(services, job.base_id, request, rubric.name)
    calls = ModelCalls(request.budget)
    made_now = 0

    def grade(hit: _Hit) -> _Reply:
        try:
            return judge_model.grade("relevance", {"question": hit.question, "passage": hit.text})
        except NoGrade as error:
            return error.usage

    for done, (hit, outcome) in enumerate(calls.run(todo, grade), start=1):
        usage = outcome.usage if isinstance(outcome, Judgement) else outcome
        cost = judge_model.cost(usage)
        calls.record(usage.tokens, cost.amount if cost else 0.0)
        if isinstance(outcome, Judgement):
            made_now += 1
            stored = StoredJudgement(
                question_id=hit.question_id,
                item=hit.item,
                judge=judge,
                version=code_version(),
                rubric=outcome.rubric,
                repetition=hit.repetition,
                grade=outcome.grade,
                reason=outcome.reason,
                tokens=outcome.usage.tokens,
                probability=1.0,
                cost=cost.amount if cost else None,
                currency=cost.currency if cost else "",
            )
            with services.database.write() as connection:
                rows.add(connection, run_id, stored)
        reporter.report(
            judged + done, judged + len(todo), f"{judged + done:,} of {judged + len(todo):,}"
        )
    done, total = judged + made_now, judged + len(todo)
    if done == total:
        return f"{done:,} hits are judged."
    return calls.describe_pause(done, total, "hits are judged", "Judge")


def _todo(services: Services, base_id: int, request: Judge, rubric: str) -> tuple[list[_Hit], int]:
    """The hits that are still to be graded, and how many grades there are."""
    with services.database.read() as connection:
        run = runs.get(connection, base_id, request.run)
        results = runs.results(connection, request.run)
        judged = {
            (judgement.question_id, judgement.item, judgement.repetition)
            for judgement in rows.of_run(connection, request.run, request.judge, rubric)
        }
        ids = {key for result in results for key, *_ in result.ranking[:CUTOFF]}
        chunks = passages.passages_by_id(connection, base_id, run.cut, ids)
        texts = {key: chunk.text for key, chunk in chunks.items()}
        present = set(documents.ids_by_name(connection, base_id).values())
        for key in sorted(ids & present):
            texts[key] = documents.text(connection, base_id, key)[:_SHOWN]
    todo = [
        _Hit(result.question_id, result.text, key, texts[key], repetition)
        for repetition in range(request.repeat)
        for result in results
        for key, *_ in result.ranking[:CUTOFF]
        if key in texts and (result.question_id, key, repetition) not in judged
    ]
    return todo, len(judged)
