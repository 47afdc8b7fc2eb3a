"""Evaluations with answers: each is kept as it comes, so whatever stops the job, it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from statistics import fmean

from rag.errors import ProviderMisbehaved
from rag.evaluation.answers.measures import measured, plain_answer
from rag.evaluation.judges import RUBRICS, ask
from rag.jobs import JobRow, Jobs, Reporter
from rag.protocols import ChatModel
from rag.recipe import Recipe
from rag.runs.evaluator import Evaluator, new_run_id
from rag.runs.quality.judges import judge_named
from rag.search.tools import refuse_tools
from rag.services import Services
from rag.storage import runs
from rag.storage.quality import answers as rows
from rag.storage.quality.answers import RunAnswer
from rag.types import Answer, Question

JOB = "evaluate-answers"
AT_ONCE = 4
"""Questions that are with a model at the same time."""
PATIENCE = 3
"""So many failures one after the other say that the provider is down."""
_TRIED = ("complete", "refused")

Answering = Callable[[int, str, Recipe], Answer]
"""Answers a question in a knowledge base, by its id."""


class AnswerEvaluations:
    """The evaluations with answers of one knowledge base."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._evaluator = Evaluator(services, base_id)
        self._jobs = jobs
        self._base_id = base_id

    def start(
        self,
        set_name: str,
        recipe: Recipe,
        *,
        judge: str = "",
        most_answers: int | None = None,
        most_tokens: int | None = None,
    ) -> int:
        """Queues an evaluation with answers; returns the job.

        One that was stopped, killed or paused at its budget goes on with the answers it has. At
        most ``most_answers`` are given, and no more begun once ``most_tokens`` were reported in
        this go; then it pauses. ``judge`` ("provider:model") grades answers too. Raises NotFound
        and InvalidInput before anything is queued.
        """
        refuse_tools(recipe.search)
        self._evaluator.questions(set_name, refusals_alone=True)
        if judge:
            judge_named(self._services, judge)
        about = {"set": set_name, "answers_of": recipe.hash, "judge": judge}
        payload = {
            "set": set_name,
            "recipe": recipe.model_dump(mode="json"),
            "run": self._unfinished(about) or new_run_id(),
            "judge": judge,
            "most_answers": most_answers,
            "most_tokens": most_tokens,
        }
        title = f"Answering {set_name}"
        return self._jobs.submit_once(self._base_id, JOB, title, about, payload)

    def latest(self, set_name: str, recipe: Recipe, judge: str = "") -> JobRow | None:
        """The last such evaluation of a set with a recipe, at work or over."""
        about = {"set": set_name, "answers_of": recipe.hash, "judge": judge}
        return self._jobs.latest(self._base_id, JOB, about)

    def answers(self, run_id: str) -> Mapping[str, RunAnswer]:
        """The answers of a run by question id; none where it only measured retrieval."""
        with self._services.database.read() as connection:
            return rows.of_run(connection, run_id)

    def _unfinished(self, about: Mapping[str, str]) -> str | None:
        last = self._jobs.latest(self._base_id, JOB, about)
        if last is None:
            return None
        run_id = str(last.payload["run"])
        with self._services.database.read() as connection:
            return None if runs.known(connection, run_id) else run_id


@dataclass
class _Going:
    """What one go has done so far."""

    answers: int = 0
    tokens: int = 0
    failed: int = 0
    in_a_row: int = 0
    problem: str = ""


def evaluate_answers(
    services: Services, answering: Answering, job: JobRow, reporter: Reporter
) -> str:
    """Does a job of kind "evaluate-answers"."""
    payload = job.payload
    run_id, recipe = str(payload["run"]), Recipe.parse(payload["recipe"])
    evaluator = Evaluator(services, job.base_id)
    _, questions = evaluator.questions(str(payload["set"]), refusals_alone=True)
    with services.database.read() as connection:
        if runs.known(connection, run_id):
            return f"Run {run_id} is stored."
        held = rows.of_run(connection, run_id)
    todo = [item for item in questions if _open(held.get(item.id))]
    again = bool(todo) and all(item.id in held for item in todo)
    work = _Work(services, job, run_id, recipe, answering)
    going = _Going()
    for item, answer in _answered(todo, work, payload, going):
        _count(going, answer)
        done = len(questions) - len(todo) + going.answers
        reporter.tell(done, len(questions), f"{done:,} of {len(questions):,} answers, {item.id}")
    if going.answers < len(todo) or (going.failed and not again):
        return _paused(len(questions), len(todo), going)
    with services.database.read() as connection:
        held = rows.of_run(connection, run_id)
    figures = {key: each.metrics for key, each in held.items() if each.status in _TRIED}
    evaluator.evaluate(
        str(payload["set"]),
        recipe,
        run_id=run_id,
        beside=figures,
        about={"answers": described(list(held.values()))},
    )
    return f"Run {run_id} is stored."


class _Work:
    """Answers and measures one question, and keeps both in one transaction."""

    def __init__(
        self, services: Services, job: JobRow, run_id: str, recipe: Recipe, answering: Answering
    ) -> None:
        self._services = services
        self._job = job
        self._run_id = run_id
        self._recipe = recipe
        self._answering = answering
        name = str(job.payload.get("judge") or "")
        self._judge = judge_named(services, name) if name else None

    def do(self, question: Question) -> Answer:
        answer = self._answering(self._job.base_id, question.text, self._recipe)
        figures: dict[str, float] = {}
        if answer.status in _TRIED:
            embedder = self._services.remembering(self._recipe.index.embedder)
            figures = measured(question, answer, embedder)
            if self._judge is not None and answer.status == "complete":
                figures |= judged(question, answer, self._judge)
        with self._services.database.write() as connection:
            rows.store(connection, self._job.base_id, self._run_id, question.id, answer, figures)
        return answer


def judged(question: Question, answer: Answer, judge: ChatModel) -> dict[str, float]:
    """What a judge says of an answer, 0 to 1: of its claims, and beside the expected answer.

    A measure that the judge gave no grade for is absent. Raises ProviderError.
    """
    by_number = {each.n: each.hit.chunk.text for each in answer.citations}
    found, grades = dict[str, float](), list[int]()
    try:
        for check in answer.sentences:
            passages = "\n\n".join(by_number[n] for n in check.cited if n in by_number)
            said = answer.text[check.start : check.end]
            parts = {"statement": said, "passages": passages or "(none is cited)"}
            grades.append(ask(RUBRICS["groundedness"], judge, parts).grade)
        if grades:
            found["judged_groundedness"] = fmean(grades)
        if question.answer:
            parts = {"question": question.text, "expected": question.answer}
            parts["answer"] = plain_answer(answer.text)
            rubric = RUBRICS["correctness"]
            found["judged_correctness"] = ask(rubric, judge, parts).grade / rubric.highest
    except ProviderMisbehaved:
        return found
    return found


def described(given: Sequence[RunAnswer]) -> str:
    """How the answers of a run went: how many, how long they took, what they cost."""
    tried = [each for each in given if each.status in _TRIED]
    failed = len(given) - len(tried)
    said = [f"{len(tried)} answered" + (f", {failed} failed" if failed else "")]
    if tried:
        firsts = [each.first_token for each in tried if each.first_token is not None]
        said.append(f"search {fmean(each.searched for each in tried):.2f} s")
        said += [f"first token {fmean(firsts):.2f} s"] if firsts else []
        said.append(f"text {fmean(each.seconds for each in tried):.2f} s")
        tokens = sum(each.tokens for each in tried)
        said += [f"{tokens / len(tried):,.0f} tokens each, {tokens:,} in all"] if tokens else []
    return "; ".join(said)


def _open(held: RunAnswer | None) -> bool:
    return held is None or held.status not in _TRIED


def _answered(
    todo: Sequence[Question], work: _Work, payload: Mapping[str, object], going: _Going
) -> Iterator[tuple[Question, Answer]]:
    """Questions with their answers as they come in, as far as the budget and the provider let."""
    most = payload.get("most_answers")
    waiting = list(todo if most is None else todo[: int(str(most))])[::-1]
    tokens = payload.get("most_tokens")
    limit = None if tokens is None else int(str(tokens))
    pending = dict[Future[Answer], Question]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while waiting or pending:
            spent = limit is not None and going.tokens >= limit
            if spent or going.in_a_row >= PATIENCE:
                waiting.clear()
            while waiting and len(pending) < AT_ONCE:
                item = waiting.pop()
                pending[pool.submit(work.do, item)] = item
            ready, _ = wait(pending, return_when=FIRST_COMPLETED) if pending else ((), ())
            for future in ready:
                yield pending.pop(future), future.result()


def _count(going: _Going, answer: Answer) -> None:
    going.answers += 1
    going.tokens += answer.usage.prompt_tokens + answer.usage.completion_tokens
    failed = answer.status not in _TRIED
    going.failed += failed
    going.in_a_row = going.in_a_row + 1 if failed else 0
    going.problem = answer.note if failed else going.problem


def _paused(questions: int, todo: int, going: _Going) -> str:
    given = questions - todo + going.answers - going.failed
    why = f" {going.failed} failed: {going.problem}" if going.failed else ""
    return f"Paused: {given:,} of {questions:,} are answered.{why} Evaluate again to go on."
