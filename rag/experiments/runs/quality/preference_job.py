"""The job in which a judge compares the answers of two runs, each pair in both orders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rag.errors import InvalidInput
from rag.evaluation.comparison import compare
from rag.evaluation.inference.clusters import CONSIDERABLE
from rag.evaluation.intervals import Interval, as_percent
from rag.evaluation.judges import RUBRICS, NoGrade, Preferred, prefer
from rag.evaluation.report.words import counted
from rag.experiments.runs.quality.judges import judge_named
from rag.experiments.runs.quality.model_calls import (
    UNLIMITED,
    Budget,
    BudgetedJob,
    ModelCalls,
)
from rag.experiments.runs.stored import StoredRuns, groups_of_set
from rag.operation import operation
from rag.services.jobs import JobRow, Jobs, Reporter
from rag.services.services import Services
from rag.settings.version import code_version
from rag.storage import Connection, passages, runs
from rag.storage.quality import answers as answer_rows
from rag.storage.quality.answers import StoredPreference
from rag.types import Cost, Usage, cost_text, percent
from rag.types.results import QuestionResult, Run

SHOWN = 3
"""Passages of each run that the judge sees beside the two answers."""
_TRIED = ("complete", "refused")
_RUBRIC = RUBRICS["preference"].name
_Reply = Preferred | Usage  # what was spent, where nothing came of it


@dataclass(frozen=True, slots=True)
class Preferences:
    """The rate at which a judge prefers the answers of one run to those of another run.

    ``rate`` is the mean over questions of 1 for better, 0 for worse, and 0.5 for a tie.
    ``interval`` is its interval at the level of the test, ``confidence``, in which questions of one
    group count as one. A judge that decides by the order contradicts itself, which counts as a tie.
    ``open`` questions are not judged yet.
    """

    run: str
    other: str
    judge: str
    questions: int
    wins: int
    losses: int
    ties: int
    open: int
    rate: float
    interval: Interval
    confidence: float
    p: float
    verdict: str
    groups: int
    design_effect: float
    tokens: int
    cost: str

    def public(self) -> dict[str, Any]:
        """Return the figures as JSON shows them, with the sentence."""
        return asdict(self) | {"sentence": self.sentence}

    @property
    def sentence(self) -> str:
        """The result in plain English, to be quoted as it is."""
        if not self.questions:
            return "The judge has not compared any answers yet."
        low, high = self.interval
        head = {
            "better": "The judge prefers the answers of this run",
            "worse": "The judge prefers the answers of the other run",
        }.get(self.verdict, "The questions are too few to tell which run the judge prefers")
        alike = ""
        if self.design_effect > CONSIDERABLE:
            alike = f"; they form {self.groups:,} groups, and each group counts once"
        sentence = (
            f"{head}: win rate {percent(self.rate)} ({as_percent(self.confidence)} interval "
            f"{percent(low)} to {percent(high)}), {counted(self.questions, 'question')}, "
            f"{self.wins:,} better, {self.losses:,} worse, {self.ties:,} tied{alike}."
        )
        return sentence + (
            f" {counted(self.open, 'question')} not judged yet." if self.open else ""
        )


class Prefer(BudgetedJob):
    """The comparison of the answers of two runs by a judge."""

    kind = "prefer"
    run: str
    other: str
    judge: str


class PairwiseComparisons(StoredRuns):
    """Preferences by models between the runs of one knowledge base."""

    _services: Services
    _jobs: Jobs

    @operation("editor", audit="evaluation")
    def start_preferences(
        self, run_id: str, other_id: str, judge: str, *, budget: Budget = UNLIMITED
    ) -> int:
        """Queue the comparison of the answers of two runs of a set; return the job.

        Stored preferences stay; the ``budget`` of this go counts questions, each of which takes
        two calls. Raises NotFound, ProviderError, InvalidInput where a run has no answers.
        """
        budget.require()
        judge_named(self._services, judge)
        self._services.database.fetch(_Pair.read, self._base_id, run_id, other_id)
        about = {"run": run_id, "other": other_id, "judge": judge}
        job = Prefer(**about, **budget.fields, about=about)
        title = f"Comparing answers of {run_id} and {other_id}"
        return self._jobs.submit_once(self._base_id, title, job)

    @operation("guest")
    def latest_preferences(self, run_id: str, other_id: str, judge: str) -> JobRow | None:
        """The last such job."""
        about = {"run": run_id, "other": other_id, "judge": judge}
        return self._jobs.latest(self._base_id, Prefer, **about)

    @operation("guest")
    def preferences(self, run_id: str, other_id: str, judge: str) -> Preferences:
        """Return a judge's preferences so far. Raises the same errors as ``start``."""
        with self._services.database.read() as connection:
            pair = _Pair.read(connection, self._base_id, run_id, other_id)
            preferences = answer_rows.preferences_between(
                connection, run_id, other_id, judge, _RUBRIC
            )
            groups = groups_of_set(connection, self._base_id, pair.run.question_set)
        votes = {
            key: preference.vote for key, preference in preferences.items() if key in pair.texts
        }
        rates = {key: (1 + vote) / 2 for key, vote in votes.items()}
        comparison = compare("preference", rates, dict.fromkeys(rates, 0.5), groups=groups)
        low, high = comparison.interval
        spent = [preference for preference in preferences.values() if preference.tokens]
        prices = [None if one.cost is None else Cost(one.cost, one.currency) for one in spent]
        return Preferences(
            run_id,
            other_id,
            judge,
            questions=len(rates),
            wins=comparison.won,
            losses=comparison.lost,
            ties=comparison.tied,
            open=len(pair.texts) - len(rates),
            rate=comparison.mean,
            interval=Interval(max(low + 0.5, 0.0), min(high + 0.5, 1.0)),
            confidence=comparison.confidence,
            p=comparison.p,
            verdict=comparison.verdict,
            groups=comparison.clusters,
            design_effect=comparison.design_effect,
            tokens=sum(preference.tokens for preference in spent),
            cost=cost_text(prices),
        )


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two runs of a set, and the answers that both gave: (first, second) by question id."""

    run: Run
    other: Run
    question_texts: Mapping[str, str]
    texts: Mapping[str, tuple[str, str]]
    rankings: Mapping[str, Sequence[QuestionResult]]

    @classmethod
    def read(cls, connection: Connection, base_id: int, run_id: str, other_id: str) -> _Pair:
        run, other = (runs.get(connection, base_id, key) for key in (run_id, other_id))
        if run.question_set != other.question_set or run.id == other.id:
            raise InvalidInput(
                "Answers are compared between two runs of one question set.",
                "Choose two runs of one set.",
            )
        one, two = (
            answer_rows.answers_of_run(connection, base_id, side.id) for side in (run, other)
        )
        if not one or not two:
            raise InvalidInput(
                f"Run {other.id if one else run.id} has no answers.",
                "Evaluate its recipe again, with answers.",
            )
        first, second = (runs.results(connection, side.id) for side in (run, other))
        texts = {
            key: (one[key].text, two[key].text)
            for key in one
            if key in two and one[key].status in _TRIED and two[key].status in _TRIED
        }
        ranked: dict[str, list[QuestionResult]] = {}
        for result in (*first, *second):
            ranked.setdefault(result.question_id, []).append(result)
        texts_by_id = {result.question_id: result.text for result in first}
        return cls(
            run, other, texts_by_id, {k: v for k, v in texts.items() if k in texts_by_id}, ranked
        )


def judge_answers(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "prefer"; preferences that an earlier process stored stay."""
    request = Prefer.of(job)
    run_id, other_id = request.run, request.other
    judge = judge_named(services, request.judge)
    calls = ModelCalls(request.budget)
    with services.database.read() as connection:
        pair = _Pair.read(connection, job.base_id, run_id, other_id)
        stored = answer_rows.preferences_between(connection, run_id, other_id, judge.name, _RUBRIC)
        passages = _passages(connection, job.base_id, pair)

    def compare_answers(key: str) -> _Reply:
        one, two = pair.texts[key]
        if one == two:
            return Preferred(0.0)  # nobody need be asked
        try:
            return prefer(judge.chat, pair.question_texts[key], one, two, passages[key])
        except NoGrade as error:
            return error.usage

    todo = [key for key in pair.texts if key not in stored]
    compared = 0
    for done, (key, outcome) in enumerate(calls.run(todo, compare_answers), start=len(stored) + 1):
        reporter.report(done, len(pair.texts), f"{done:,} questions")
        usage = outcome.usage if isinstance(outcome, Preferred) else outcome
        cost = judge.cost(usage)
        calls.record(usage.tokens, cost.amount if cost else 0.0)
        if not isinstance(outcome, Preferred):
            continue
        compared += 1
        row = StoredPreference(
            question_id=key,
            judge=judge.name,
            version=code_version(),
            rubric=_RUBRIC,
            vote=outcome.vote,
            tokens=outcome.usage.tokens,
            cost=cost.amount if cost else None,
            currency=cost.currency if cost else "",
        )
        services.database.execute(answer_rows.add_preference, run_id, other_id, row)
    done, total = len(stored) + compared, len(stored) + len(todo)
    if done == total:
        return f"{counted(done, 'pair')} of answers compared."
    return calls.describe_pause(done, total, "pairs of answers are compared", "Compare")


def _passages(connection: Connection, base_id: int, pair: _Pair) -> dict[str, str]:
    """The first passages of both runs by question id, each once."""
    items_by_question = {
        key: list(dict.fromkeys(item for result in results for item, *_ in result.ranking[:SHOWN]))
        for key, results in pair.rankings.items()
    }
    texts: dict[str, str] = {}
    for run in (pair.run, pair.other):
        ids = {item for items in items_by_question.values() for item in items}
        chunks = passages.passages_by_id(connection, base_id, run.cut, ids)
        texts |= {key: chunk.text for key, chunk in chunks.items()}
    return {
        key: "\n\n".join(dict.fromkeys(texts[item] for item in items if item in texts)) or "(none)"
        for key, items in items_by_question.items()
    }
