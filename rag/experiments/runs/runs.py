"""The runs of a knowledge base: one part, whose operations are in one module for each purpose."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from statistics import fmean

from pydantic import Field

from rag.errors import InvalidInput
from rag.evaluation.metrics import rank_biased_overlap
from rag.evaluation.report import FailureNote
from rag.experiments.runs.decisions import Decisions
from rag.experiments.runs.evaluate_job import Evaluations
from rag.experiments.runs.evaluator import Evaluator
from rag.experiments.runs.gate import Gate
from rag.experiments.runs.quality.answer_job import AnswerEvaluations
from rag.experiments.runs.quality.estimates import Estimates
from rag.experiments.runs.quality.failing import failing
from rag.experiments.runs.quality.judge_job import Judgements
from rag.experiments.runs.quality.judges import JudgeCalibrations
from rag.experiments.runs.quality.preference_job import PairwiseComparisons
from rag.experiments.runs.rankings import DEPTH, RankedSpan, Rankings, ranked_span, renamed
from rag.experiments.runs.recipe_names import RecipeNames
from rag.experiments.runs.reporting import Reports
from rag.experiments.runs.stored import Loaded, StoredRuns
from rag.experiments.runs.unseen import UnseenQuestions
from rag.operation import operation
from rag.services.jobs import Jobs
from rag.services.services import Services
from rag.storage import Connection, passages, runs
from rag.storage.conversations import SessionOwner
from rag.types.results import QuestionResult, Run
from rag.types.schema import Schema


class QuestionParityData(Schema):
    """The agreement of two runs on one question; ``first_difference`` is a rank."""

    id: str
    question: str
    overlap: float
    rank_biased_overlap: float
    first_difference: int | None


class ParityData(Schema):
    """The agreement of the first k of two runs: means, and every question, worst first."""

    run: str
    other: str
    k: int
    overlap: float
    rank_biased_overlap: float
    equal: int = Field(description="questions with equal rankings")
    left_out: int = Field(description="questions that only one run asked")
    questions: tuple[QuestionParityData, ...]


class Parity(StoredRuns):
    """Comparisons of the stored rankings of runs of one knowledge base."""

    @operation("guest")
    def parity(self, run_id: str, other_id: str, k: int = DEPTH) -> ParityData:
        """Compare the first k passages of all questions that both runs asked in the same words.

        Passages of different cuts are the same where they share at least half of the shorter.
        Raises NotFound for a run that is not there, and InvalidInput for runs without a common
        question.
        """
        if k < 1:
            raise InvalidInput(f"k is {k}, and has to be at least 1.")
        with self._database.read() as connection:
            run, other = (runs.get(connection, self._base_id, name) for name in (run_id, other_id))
            results = [_by_question(runs.results(connection, one.id, k)) for one in (run, other)]
            common = [key for key in results[0] if key in results[1]]
            rankings = [
                self._rankings(connection, one, [by_question[key] for key in common])
                for one, by_question in zip((run, other), results, strict=True)
            ]
        if not common:
            raise InvalidInput(
                f"The runs {run.id} and {other.id} have no question in common.",
                "Evaluate both recipes on one question set.",
            )
        same_cut = run.cut == other.cut
        rows = [
            _agreement(key, before, after, same_cut)
            for key, before, after in zip(common, *rankings, strict=True)
        ]
        rows.sort(key=lambda row: (row.overlap, row.rank_biased_overlap))
        left_out = len(results[0].keys() ^ results[1].keys())
        return ParityData(
            run=run.id,
            other=other.id,
            k=k,
            overlap=fmean(row.overlap for row in rows),
            rank_biased_overlap=fmean(row.rank_biased_overlap for row in rows),
            equal=sum(row.first_difference is None for row in rows),
            left_out=left_out,
            questions=tuple(rows),
        )

    def _rankings(
        self, connection: Connection, run: Run, results: Sequence[QuestionResult]
    ) -> list[list[RankedSpan]]:
        ids = {entry[0] for result in results for entry in result.ranking}
        chunks = passages.passages_by_id(connection, self._base_id, run.cut, ids)
        return [[ranked_span(entry[0], chunks) for entry in result.ranking] for result in results]


def _by_question(results: Sequence[QuestionResult]) -> dict[tuple[str, str], QuestionResult]:
    return {(result.question_id, result.text): result for result in results}


def _agreement(
    key: tuple[str, str], one: Sequence[RankedSpan], other: Sequence[RankedSpan], same_cut: bool
) -> QuestionParityData:
    """The overlap is the share of common passages, by the longer ranking; two empty ones agree."""
    names = [place.id for place in one]
    others = [place.id for place in other] if same_cut else renamed(other, one)
    longer = max(len(names), len(others))
    pairs = enumerate(zip_longest(names, others), 1)
    return QuestionParityData(
        id=key[0],
        question=key[1],
        overlap=len(set(names) & set(others)) / longer if longer else 1.0,
        rank_biased_overlap=rank_biased_overlap(names, others),
        first_difference=next((n for n, (a, b) in pairs if a != b), None),
    )


_SCORED = "correct_decision"  # the metric of a run that scored answers


class Suggestions(StoredRuns):
    """The basis of the suggested questions of one knowledge base."""

    @operation("guest")
    def newest_runs(self) -> Mapping[str, tuple[str, ...]]:
        """The ids of the newest run of each question set, and of the newest with scored answers."""
        newest, scored = dict[str, str](), dict[str, str]()
        all_runs = self._database.fetch(runs.list_runs, self._base_id)
        for run in reversed(all_runs):
            newest[run.question_set] = run.id
            if _SCORED in run.metrics:
                scored[run.question_set] = run.id
        return {
            name: tuple(dict.fromkeys(filter(None, (run_id, scored.get(name, "")))))
            for name, run_id in newest.items()
        }

    @operation("guest")
    def failing_questions(self, run_ids: Sequence[str]) -> frozenset[str]:
        """The ids of the questions that some runs fail. Raises NotFound."""
        with self._database.read() as connection:
            loaded = [Loaded.read(connection, self._base_id, run_id, 0) for run_id in run_ids]
        return frozenset().union(*(failing(one.run, list(one.results.values())) for one in loaded))


class Runs(
    Evaluator,
    Evaluations,
    AnswerEvaluations,
    Judgements,
    JudgeCalibrations,
    PairwiseComparisons,
    Decisions,
    Reports,
    Gate,
    Estimates,
    Rankings,
    Parity,
    RecipeNames,
    Suggestions,
    UnseenQuestions,
):
    """The runs of one knowledge base."""

    def __init__(
        self,
        services: Services,
        jobs: Jobs,
        base_id: int,
        visitor: SessionOwner,
        failures: Callable[[Run], FailureNote | None],
    ) -> None:
        """``failures`` gives the diagnosis of a run, if there is one."""
        self._services = services
        self._jobs = jobs
        self._database = services.database
        self._base_id = base_id
        self._visitor = visitor
        self._failures = failures
