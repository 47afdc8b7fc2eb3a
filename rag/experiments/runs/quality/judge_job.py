"""The job in which a language model grades the hits of a run; each grade is kept as it comes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from rag.errors import InvalidInput
from rag.evaluation.judges import Judgement, NoGrade
from rag.evaluation.pooling.sampling import Agreement, agreement
from rag.experiments.runs.quality.estimates import CUTOFF, RELEVANT
from rag.experiments.runs.quality.judges import judge_calibration, passage_judge
from rag.experiments.runs.quality.model_calls import UNLIMITED, Budget, BudgetedJob, ModelCalls
from rag.experiments.runs.stored import StoredRuns
from rag.operation import operation
from rag.services.jobs import JobRow, Jobs, Reporter
from rag.services.services import Services
from rag.settings.version import code_version
from rag.storage import documents, passages, runs
from rag.storage import questions as question_rows
from rag.storage.labels import PROPOSED, of_model
from rag.storage.quality import answers as rows
from rag.storage.quality.answers import StoredJudgement
from rag.types import Usage

_Reply = Judgement | Usage  # what was spent, where no grade came of it
_SHOWN = 4000  # characters of a document that is judged whole


class Judge(BudgetedJob):
    """The judging of the first hits of every question of a run."""

    kind = "judge"
    run: str
    judge: str
    repeat: int = 1
    depth: int = CUTOFF


@dataclass(frozen=True, slots=True)
class JudgeTrial:
    """A judge on passages that people graded, before it grades thousands.

    ``relevant`` and ``irrelevant`` count what people said, ``missed`` and ``invented`` where the
    judge says the opposite. ``models`` are the versions that answered. ``failed`` passages got no
    grade.
    """

    judge: str
    agreement: Agreement
    relevant: int
    irrelevant: int
    missed: int
    invented: int
    failed: int
    tokens: int
    models: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The agreement, and what the trial cannot tell."""
        agreed = self.agreement
        kappa = "" if agreed.kappa is None else f", kappa {agreed.kappa:.2f}"
        one_sided = "" if self.relevant and self.irrelevant else " People gave one verdict alone,"
        one_sided += one_sided and " so the trial cannot tell whether the judge tells them apart."
        return (
            f"{self.judge} agrees with people on {agreed.agreed} of {agreed.hits} passages{kappa}: "
            f"it misses {self.missed} of {self.relevant} relevant ones, and accepts "
            f"{self.invented} of {self.irrelevant} others.{one_sided}"
        )


class Judgements(StoredRuns):
    """Judgements by models of the runs of one knowledge base."""

    _services: Services
    _jobs: Jobs

    @operation("editor", audit="evaluation")
    def start_judging(
        self,
        run_id: str,
        judge: str,
        *,
        repeat: int = 1,
        depth: int = CUTOFF,
        budget: Budget = UNLIMITED,
    ) -> int:
        """Queue the judging of the first ``depth`` hits of every question of a run; return the job.

        What was judged already stays, and what the judge graded for the same question in another
        run of the set is taken over. Each hit is judged ``repeat`` times, which gives a spread;
        the ``budget`` of this go counts grades. Raises NotFound, InvalidInput, ProviderError.
        """
        passage_judge(self._services, self._base_id, judge)
        if repeat < 1 or depth < 1:
            raise InvalidInput(
                "The number of judgements and the last rank must be at least 1.",
                "Leave it out, or give a larger number.",
            )
        budget.require()
        run = self._services.database.fetch(runs.get, self._base_id, run_id)
        about = {"run": run.id, "judge": judge}
        job = Judge(**about, repeat=repeat, depth=depth, **budget.fields, about=about)
        return self._jobs.submit_once(self._base_id, f"Judging hits of {run.question_set}", job)

    @operation("editor", audit="evaluation")
    def try_judge(self, set_name: str, judge: str, number: int = 20) -> JudgeTrial:
        """Ask a judge for grades of passages that people graded; nothing is stored.

        Half of them are irrelevant where there are as many. Raises NotFound, InvalidInput without
        passages that people graded, ProviderError.
        """
        named = passage_judge(self._services, self._base_id, judge)
        if number < 1:
            raise InvalidInput(f"A trial of {number} passages shows nothing.", "Try at least 1.")
        with self._database.read() as connection:
            question_set = question_rows.get_question_set(connection, self._base_id, set_name)
            texts = dict[str, str]()
            graded: dict[bool, list[tuple[str, str]]] = {True: [], False: []}
            for question in question_rows.list_labelled_questions(connection, question_set.id):
                for label in question.labels:
                    document = label.document_id
                    if document is None or label.origin == PROPOSED or of_model(label.origin):
                        continue
                    if document not in texts:
                        texts[document] = documents.text(connection, self._base_id, document)
                    end = label.start + _SHOWN if label.end is None else label.end
                    pair = question.text, texts[document][label.start : end]
                    graded[label.grade > 0].append(pair)
        for pairs in graded.values():
            pairs.sort(key=lambda pair: sha256("\0".join(pair).encode()).digest())
        irrelevant = graded[False][: max(number // 2, number - len(graded[True]))]
        relevant = graded[True][: number - len(irrelevant)]
        drawn = [(pair, True) for pair in relevant] + [(pair, False) for pair in irrelevant]
        if not drawn:
            raise InvalidInput(
                f"People graded no passage for {set_name!r}.", "Grade some, relevant or not."
            )
        verdicts, models = list[tuple[bool, bool]](), dict[str, None]()
        tokens = 0
        for (question_text, passage), is_relevant in drawn:
            try:
                judgement = named.grade({"question": question_text, "passage": passage})
            except NoGrade as error:
                tokens += error.usage.tokens
                continue
            tokens += judgement.usage.tokens
            models |= {judgement.model: None} if judgement.model else {}
            verdicts.append((is_relevant, judgement.grade >= RELEVANT))
        if not verdicts:
            raise NoGrade("The judge gave no grade.", "Try a larger model.", Usage(tokens, 0))
        people, judged = (np.array(side, float) for side in zip(*verdicts, strict=True))
        return JudgeTrial(
            judge,
            agreement(people, judged),
            relevant=int(people.sum()),
            irrelevant=int((1 - people).sum()),
            missed=verdicts.count((True, False)),
            invented=verdicts.count((False, True)),
            failed=len(drawn) - len(verdicts),
            tokens=tokens,
            models=tuple(models),
        )

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
    judge_model = passage_judge(services, job.base_id, judge)
    rubric = judge_model.rubric
    todo, judged = _todo(services, job.base_id, request, rubric.name)
    with services.database.write() as connection:
        elsewhere = rows.elsewhere(connection, job.base_id, judge, rubric.name)
        graded = {hit: elsewhere.get((hit.question, hit.item, hit.repetition)) for hit in todo}
        for hit, earlier in graded.items():
            if earlier is not None:
                copy = replace(earlier, question_id=hit.question_id, tokens=0, cost=None)
                rows.add_judgement(connection, run_id, copy)
    todo = [hit for hit in todo if graded[hit] is None]
    judged += len(graded) - len(todo)
    calls = ModelCalls(request.budget)
    made_now = 0

    def grade(hit: _Hit) -> _Reply:
        try:
            return judge_model.grade({"question": hit.question, "passage": hit.text})
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
                model=outcome.model,
                stated=outcome.stated,
            )
            services.database.execute(rows.add_judgement, run_id, stored)
        reporter.report(
            judged + done, judged + len(todo), f"{judged + done:,} of {judged + len(todo):,}"
        )
    with services.database.write() as connection:
        calibration = judge_calibration(connection, job.base_id, run_id, judge)
        if calibration is not None:
            at = calibration.threshold, rubric.highest
            rows.regrade(connection, run_id, judge, rubric.name, *at)
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
            for judgement in rows.judgements_of_run(connection, request.run, request.judge, rubric)
        }
        ids = {key for result in results for key, *_ in result.ranking[: request.depth]}
        chunks = passages.passages_by_id(connection, base_id, run.cut, ids)
        texts = {key: chunk.text for key, chunk in chunks.items()}
        present = set(documents.ids_by_name(connection, base_id).values())
        for key in sorted(ids & present):
            texts[key] = documents.text(connection, base_id, key)[:_SHOWN]
    todo = [
        _Hit(result.question_id, result.text, key, texts[key], repetition)
        for repetition in range(request.repeat)
        for result in results
        for key, *_ in result.ranking[: request.depth]
        if key in texts and (result.question_id, key, repetition) not in judged
    ]
    return todo, len(judged)
