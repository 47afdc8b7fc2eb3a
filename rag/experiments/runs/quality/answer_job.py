"""Evaluations with answers: each is kept as it comes, so whatever stops the job, it goes on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from time import perf_counter
from typing import Protocol

from rag.answering import AnswerStream
from rag.evaluation.answers import answer_measures, plain_answer, quote_that_answers
from rag.evaluation.judges import RUBRICS, NoGrade
from rag.experiments.runs.evaluator import DEFAULT_CUTOFFS, Evaluator, new_run_id
from rag.experiments.runs.quality.failing import CONFLICT, DECISION, FALSE_DOUBT, FLAGGED
from rag.experiments.runs.quality.failing import METRIC as DOUBT
from rag.experiments.runs.quality.judges import NamedJudge, judge_named
from rag.experiments.runs.quality.model_calls import (
    UNLIMITED,
    Budget,
    BudgetedJob,
    ModelCalls,
)
from rag.experiments.runs.stored import StoredRuns
from rag.operation import operation
from rag.recipe import Recipe
from rag.search.model_fit import settled
from rag.search.tools import refuse_tools
from rag.services.jobs import JobRow, Jobs, Reporter, StoredRecipe
from rag.services.services import Services
from rag.storage import runs
from rag.storage.conversations import SessionOwner
from rag.storage.quality import answers as rows
from rag.storage.quality.answers import RunAnswer
from rag.types import Answer, Cost, Question, Usage, cost_text
from rag.types.results import PROMPTS

_TRIED = ("complete", "refused")


class Answering(Protocol):
    """An object that answers a question with a recipe, as a knowledge base does."""

    def ask(
        self,
        question: str,
        recipe: Recipe,
        *,
        without: Collection[str],
    ) -> AnswerStream: ...


Opening = Callable[[int, SessionOwner], Answering]
"""The knowledge base of an id, with the memory of a visitor."""


class EvaluateAnswers(BudgetedJob):
    """An evaluation with answers; a job that goes on with earlier answers names their run."""

    kind = "evaluate-answers"
    set: str
    recipe: StoredRecipe
    run: str
    judge: str = ""
    cutoffs: Sequence[int] = DEFAULT_CUTOFFS
    by_tokens: bool = False
    ignore_identical: bool = False
    without_users: bool = False
    visitor: tuple[str, tuple[str, ...] | None] = ("", ("",))


class AnswerEvaluations(StoredRuns):
    """The evaluations with answers of one knowledge base."""

    _services: Services
    _jobs: Jobs
    _visitor: SessionOwner

    @operation("editor", audit="evaluation")
    def start_answers(
        self,
        set_name: str,
        recipe: Recipe,
        *,
        judge: str = "",
        budget: Budget = UNLIMITED,
        cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
        by_tokens: bool = False,
        ignore_identical: bool = False,
        without_users: bool = False,
    ) -> int:
        """Queue an evaluation with answers; return the job.

        One that was stopped, killed or paused at its ``budget`` goes on with the answers it has.
        ``judge`` ("provider:model") grades answers too; the rest is as in ``Evaluator.evaluate``.
        Past interactions of this visitor are examples where the recipe asks for some; those about
        the same question are not. Raises NotFound and InvalidInput before anything is queued.
        """
        refuse_tools(recipe.search)
        budget.require()
        evaluator = Evaluator(self._services, self._base_id)
        evaluator.questions(
            set_name, refusals_alone=True, without_users=without_users, answers=True
        )
        if judge:
            judge_named(self._services, judge)
        about = self._about(set_name, recipe, judge)
        job = EvaluateAnswers(
            set=set_name,
            recipe=recipe,
            run=self._unfinished(about) or new_run_id(),
            judge=judge,
            **budget.fields,
            cutoffs=cutoffs,
            by_tokens=by_tokens,
            ignore_identical=ignore_identical,
            without_users=without_users,
            visitor=(self._visitor.key, self._visitor.keys),
            about=about,
        )
        return self._jobs.submit_once(self._base_id, f"Answering {set_name}", job)

    def _about(self, set_name: str, recipe: Recipe, judge: str) -> dict[str, str]:
        """Return the key that equal requests share; each visitor has a separate memory."""
        about = {"set": set_name, "answers_of": recipe.hash, "judge": judge}
        whose = "everybody" if self._visitor.keys is None else self._visitor.key
        return {**about, "memory_of": whose} if recipe.answer.memory else about

    @operation("guest")
    def latest_answers(self, set_name: str, recipe: Recipe) -> JobRow | None:
        """The last such evaluation without a judge of a set with a recipe, at work or over."""
        about = self._about(set_name, recipe, judge="")
        return self._jobs.latest(self._base_id, EvaluateAnswers, **about)

    @operation("guest")
    def answers(self, run_id: str) -> Mapping[str, RunAnswer]:
        """The answers of a run by question id; none where it only measured retrieval."""
        return self._services.database.fetch(rows.answers_of_run, self._base_id, run_id)

    def _unfinished(self, about: Mapping[str, str]) -> str | None:
        last = self._jobs.latest(self._base_id, EvaluateAnswers, **about)
        if last is None:
            return None
        run_id = EvaluateAnswers.of(last).run
        return None if self._services.database.fetch(runs.run_exists, run_id) else run_id


def evaluate_answers(services: Services, opened: Opening, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "evaluate-answers"."""
    started = perf_counter()
    request = EvaluateAnswers.of(job)
    run_id = request.run
    evaluator = Evaluator(services, job.base_id)
    _, questions = evaluator.questions(
        request.set, refusals_alone=True, without_users=request.without_users, answers=True
    )
    with services.database.read() as connection:
        if runs.run_exists(connection, run_id):
            return f"Run {run_id} is stored."
        answers = rows.answers_of_run(connection, job.base_id, run_id)
    todo = [item for item in questions if _open(answers.get(item.id))]
    again = bool(todo) and all(item.id in answers for item in todo)
    work = _Work(services, job.base_id, request, opened)
    calls = ModelCalls(request.budget)
    earlier = sum(
        answer.searched + answer.seconds for answer in answers.values() if not _open(answer)
    )
    kept = len(questions) - len(todo)
    done = complete = kept
    for done, (item, answer) in enumerate(calls.run(todo, work.do), start=kept + 1):
        complete += not _open(answer)
        calls.record(
            answer.tokens + answer.judge_tokens,
            (answer.cost or 0.0) + (answer.judge_cost or 0.0),
            answer.note if _open(answer) else "",
        )
        reporter.report(done, len(questions), f"{done:,} of {len(questions):,} answers, {item.id}")
    if done < len(questions) or (calls.failed and not again):
        return calls.describe_pause(complete, len(questions), "questions are answered", "Evaluate")
    answers = services.database.fetch(rows.answers_of_run, job.base_id, run_id)
    stored = [answers[item.id] for item in questions if item.id in answers]

    def on_measured(measured: int, total: int) -> None:
        reporter.report(done, len(questions), f"{measured:,} of {total:,} questions measured")

    evaluator.evaluate(
        request.set,
        request.recipe,
        request.cutoffs,
        on_measured,
        run_id=run_id,
        by_tokens=request.by_tokens,
        ignore_identical=request.ignore_identical,
        without_users=request.without_users,
        beside={answer.question_id: answer.metrics for answer in stored if answer.status in _TRIED},
        about={"answers": described(stored), **_prompts(stored)},
        spent=earlier + perf_counter() - started,
    )
    return f"Run {run_id} is stored."


class _Work:
    """Answers and measures one question, and keeps both in one transaction."""

    def __init__(
        self, services: Services, base_id: int, request: EvaluateAnswers, opened: Opening
    ) -> None:
        self._services = services
        self._base_id = base_id
        self._request = request
        self._base = opened(base_id, SessionOwner(*request.visitor))
        self._judge = judge_named(services, request.judge) if request.judge else None
        settled(services, request.recipe, tries=True)  # all answers of a run read the same

    def do(self, question: Question) -> RunAnswer:
        answer = self._base.ask(question.text, self._request.recipe, without=[question.text]).answer
        figures, judged_values = dict[str, float](), Judged()
        if answer.status in _TRIED:
            embedder = self._services.remembering(self._request.recipe.index.embedder)
            figures = answer_measures(question, answer, embedder)
            name = FALSE_DOUBT if question.answerable else DOUBT
            flagged = answer.state in FLAGGED
            figures |= {name: float(flagged), DECISION: float(flagged != question.answerable)}
            figures[CONFLICT] = float(answer.state == "conflicting")
            if self._judge is not None and answer.status == "complete":
                judged_values = judged(question, answer, self._judge)
        run_answer = rows.RunAnswer(
            question_id=question.id,
            status=answer.status,
            mode=answer.mode,
            text=answer.text,
            note=answer.note,
            sentences=[asdict(sentence) for sentence in answer.sentences],
            metrics={**figures, **judged_values.figures},
            searched=answer.trace.seconds,
            first_token=answer.first_token,
            seconds=answer.seconds,
            prompt_tokens=answer.usage.prompt_tokens,
            completion_tokens=answer.usage.completion_tokens,
            examples=len(answer.examples),
            prompt_version=answer.prompt_version,
            cost=answer.cost.amount if answer.cost else None,
            currency=(answer.cost or judged_values.cost or Cost(0, "")).currency,
            judge_tokens=judged_values.usage.tokens,
            judge_cost=judged_values.cost.amount if judged_values.cost else None,
        )
        self._services.database.execute(
            rows.store_answer, self._base_id, self._request.run, run_answer
        )
        return run_answer


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge's grades of an answer, 0 to 1 by metric, with token usage and cost."""

    figures: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    cost: Cost | None = None


def judged(question: Question, answer: Answer, judge: NamedJudge) -> Judged:
    """Ask a judge to grade the claims of an answer, and the answer against the expected one.

    A metric without a grade from the judge is absent. Raises ProviderError.
    """
    by_number = {citation.n: citation.hit.chunk.text for citation in answer.citations}
    values, grades, spent = dict[str, float](), list[int](), Usage()
    try:
        for check in answer.sentences:
            passages = "\n\n".join(by_number[n] for n in check.cited if n in by_number)
            statement = answer.text[check.start : check.end]
            parts = {"statement": statement, "passages": passages or "(none is cited)"}
            judgement = judge.grade("groundedness", parts)
            grades.append(judgement.grade)
            spent += judgement.usage
        if grades:
            values["judged_groundedness"] = fmean(grades)
        if question.answer:
            parts = {"question": question.text, "expected": question.answer}
            parts["answer"] = plain_answer(quote_that_answers(answer))
            judgement = judge.grade("correctness", parts)
            values["judged_correctness"] = judgement.grade / RUBRICS["correctness"].highest
            spent += judgement.usage
    except NoGrade as error:
        spent += error.usage
    return Judged(values, spent, judge.cost(spent))


def described(answers: Sequence[RunAnswer]) -> str:
    """Summarize the answers of a run: their number, duration and cost."""
    tried = [answer for answer in answers if answer.status in _TRIED]
    failed = len(answers) - len(tried)
    refused = sum(answer.status == "refused" for answer in tried)
    # A refused answer is flagged as well; answers of earlier versions have no flag.
    flagged = sum(
        answer.metrics.get(DOUBT, answer.metrics.get(FALSE_DOUBT, 0.0)) for answer in tried
    )
    doubtful = max(int(flagged) - refused, 0)
    others = {"doubtful": doubtful, "refused": refused, "failed": failed}
    answered = len(tried) - refused - doubtful
    counts = [f"{answered} answered", *(f"{n} {how}" for how, n in others.items() if n)]
    parts = [", ".join(counts)]
    if tried:
        firsts = [
            answer.first_token
            for answer in tried
            if answer.first_token is not None and answer.mode != "quotes"
        ]
        times = [f"search {fmean(answer.searched for answer in tried):.2f} s"]
        times += [f"first token {fmean(firsts):.2f} s"] if firsts else []
        times.append(f"text {fmean(answer.seconds for answer in tried):.2f} s")
        parts.append(f"on average {', '.join(times)} a question")
        tokens = sum(answer.tokens for answer in tried)
        if tokens:
            parts.append(f"{tokens / len(tried):,.0f} tokens each, {tokens:,} in all")
            parts.append(cost_text(answer.price for answer in tried if answer.tokens))
        judging = [answer for answer in tried if answer.judge_tokens]
        if judging:
            spent = sum(answer.judge_tokens for answer in judging)
            price = cost_text(answer.judge_price for answer in judging)
            parts.append(f"judge {spent:,} tokens, {price}")
    return "; ".join(parts)


def _prompts(answers: Sequence[RunAnswer]) -> dict[str, str]:
    """The versions of the prompts that answers were asked with; nothing for quotes alone."""
    names = {name for answer in answers for name in answer.prompt_version.split()}
    return {PROMPTS: " ".join(sorted(names))} if names else {}


def _open(answer: RunAnswer | None) -> bool:
    return answer is None or answer.status not in _TRIED
