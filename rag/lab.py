"""The measuring side of a knowledge base: question sets, evaluations and runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from rag.build_table import BuildFigures, BuildTable
from rag.calibrations import Calibrator
from rag.errors import NotFound
from rag.evaluation.floors import Floors
from rag.evaluation.intervals import Interval
from rag.evaluation.run_intervals import TagFigures, UnjudgedShare
from rag.evaluation.splits import Split
from rag.evaluation.sweeping import Grid
from rag.evaluations import DEFAULT_CUTOFFS, Evaluation, Evaluator, Tell
from rag.exchange import Exchange, TextForm
from rag.gates import Gate, GateResult
from rag.jobs import Jobs
from rag.judging_queue import JudgingQueue, Unjudged
from rag.label_edits import LabelEdits
from rag.limits import FittedCalibration, fitted
from rag.passage_labels import PassageLabels
from rag.proposals import Proposals
from rag.question_edits import QuestionEdits
from rag.question_sets import QuestionSets
from rag.rankings import Rankings, SideBySide
from rag.recipe import IndexRecipe, Recipe
from rag.reporting import Reporter
from rag.run_figures import RunFigures
from rag.run_history import LeaderboardRow, QuestionDifference, RunComparison, RunHistory
from rag.services import Services
from rag.storage.labels import Label
from rag.storage.questions import LabelledQuestion, QuestionSet
from rag.storage.runs import QuestionResult, Run
from rag.sweeps import SWEEP_CUTOFFS, Sweep, Sweeper
from rag.tuning import Tuner
from rag.types import Question

LEADING = "ndcg@10"
"""The metric that runs are ranked by, unless another is asked for."""


class Lab:
    """How good a knowledge base is, and at what."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._services = services
        self._base_id = base_id
        self._question_sets = QuestionSets(services.database)
        self._history = RunHistory(services.database, base_id)
        self._exchange = Exchange(services.database, base_id)
        self.edits = QuestionEdits(services.database, base_id)
        self.passages = PassageLabels(services.database, base_id)
        self.labels = LabelEdits(services.database, base_id)
        self.proposals = Proposals(services, jobs, base_id)

    def import_questions(
        self, set_name: str, file_name: str, content: str | bytes, split: str | None = None
    ) -> int:
        """Creates or replaces a question set from a file; returns how many questions.

        The file's name tells its form: ``.csv``, ``.zip`` (BEIR), else JSONL. ``.qrels`` and
        ``.txt`` are TREC judgements for a set that is there; returns how many. Raises InvalidFile.
        """
        return self._exchange.import_file(set_name, file_name, content, split)

    def import_question_folder(self, set_name: str, folder: Path, split: str | None = None) -> int:
        """Creates or replaces a question set from a BEIR folder; returns how many questions.

        ``split`` names the qrels; None takes ``test``, or the only ones. Raises InvalidFile.
        """
        return self._exchange.import_folder(set_name, folder, split)

    def export_questions(self, set_name: str, form: TextForm) -> str:
        """A question set as the text of a file, which ``import_questions`` reads back.

        ``qrels`` has judgements by document only. Raises NotFound.
        """
        return self._exchange.export_text(set_name, form)

    def export_beir(
        self, set_name: str, *, split: str = "test", with_documents: bool = False
    ) -> bytes:
        """A question set, and the documents if wanted, as a zip in BEIR's layout."""
        return self._exchange.export_beir(set_name, split, with_documents)

    def judge_next(
        self, run_id: str, other_id: str | None = None, *, k: int = 10, limit: int = 50
    ) -> list[Unjudged]:
        """Unjudged hits among the first k of a run, or of two runs, the most telling first.

        With two runs these are the hits that their difference in DCG@k hangs on. Raises NotFound,
        InvalidInput for runs of different question sets.
        """
        return JudgingQueue(self._services.database, self._base_id).ordered(
            run_id, other_id, k, limit
        )

    def export_run(self, run_id: str) -> str:
        """The rankings of a run as a TREC run file. Raises NotFound."""
        return self._exchange.export_run(run_id)

    def export_run_qrels(self, run_id: str) -> str:
        """The qrels that fit ``export_run``, from the labels of today. Raises NotFound."""
        return self._exchange.export_run_qrels(run_id)

    def question_set(self, set_name: str) -> QuestionSet:
        """One question set, counted. Raises NotFound."""
        return self._question_sets.named(self._base_id, set_name)

    def question_sets(self) -> list[QuestionSet]:
        """Every question set, by name."""
        return self._question_sets.every(self._base_id)

    def lost_labels(self, set_name: str) -> list[tuple[str, Label]]:
        """(question id, label) of labels whose text no present document has."""
        return self._question_sets.lost_labels(self._base_id, set_name)

    def questions(self, set_name: str) -> list[Question]:
        """The questions of a set with the labels whose documents are present."""
        return self._question_sets.questions(self._base_id, set_name)

    def labelled_questions(self, set_name: str) -> list[LabelledQuestion]:
        """The questions of a set with every label as stored, to be edited. Raises NotFound."""
        return self._question_sets.labelled(self._base_id, set_name)

    def split(self, set_name: str) -> Split:
        """Ids of the questions for tuning and of those held out.

        Raises NotFound, or InvalidInput for too few questions.
        """
        return self._question_sets.split(self._base_id, set_name)

    def evaluate(
        self,
        set_name: str,
        recipe: Recipe,
        cutoffs: Sequence[int] = DEFAULT_CUTOFFS,
        tell: Tell = lambda _done, _total: None,
        by_tokens: bool = False,
    ) -> Evaluation:
        """Measures a recipe on a question set and keeps the run; spans ``by_tokens`` too."""
        evaluator = Evaluator(self._services, self._base_id, by_tokens=by_tokens)
        return evaluator.evaluate(set_name, recipe, cutoffs, tell)

    def sweeper(self, set_name: str) -> Sweeper:
        """For many sweeps of a question set: what one fetched serves the next.

        Sees the questions and documents of now. Raises NotFound, InvalidInput without labels.
        """
        return Sweeper(self._services, self._base_id, set_name)

    def sweep(
        self,
        set_name: str,
        grid: Mapping[str, Sequence[Any]],
        recipe: Recipe,
        cutoffs: Sequence[int] = SWEEP_CUTOFFS,
        tell: Tell = lambda _done, _total: None,
    ) -> Sweep:
        """Measures every recipe of a grid (values by field) laid around ``recipe``; keeps no run.

        Builds are measured with the documents that they hold: make what is missing before.
        Raises NotFound, InvalidRecipe, InvalidInput.
        """
        return self.sweeper(set_name).sweep(Grid.parse(grid, recipe), cutoffs, tell=tell)

    def build_table(
        self,
        set_name: str,
        grid: Grid,
        cutoffs: Sequence[int] = SWEEP_CUTOFFS,
        tell: Tell = lambda _done, _total: None,
        by_tokens: bool = False,
    ) -> list[BuildFigures]:
        """Compares chunkers, sizes and embedders: every recipe of a grid by ordinary evaluation.

        Has the metrics of retrieved text too (``by_tokens``: in tokens besides), and the length of
        passages; keeps no run.
        ``Library.build_several`` makes the builds before. Raises NotFound, InvalidInput.
        """
        table = BuildTable(self._services, self._base_id, by_tokens=by_tokens)
        return table.rows(set_name, grid, cutoffs, tell)

    def fit_calibration(self, set_name: str, recipe: Recipe) -> tuple[FittedCalibration, Floors]:
        """Learns P(relevant) from the tuning questions of a set, for the recipe's build; kept.

        Recipes with ``search.relevance`` "probability" use it from now on. The floors are
        cross-validated on these questions. Raises NotFound, NotEnoughLabels.
        """
        return self._calibrator().fit(set_name, recipe)

    def calibration(self, index: IndexRecipe) -> FittedCalibration | None:
        """What was fitted for a build, or None."""
        return fitted(self._services, self._base_id, index)

    def floors(self, set_name: str, recipe: Recipe) -> Floors:
        """What every threshold would do with a recipe; ``recommend`` finds one for a precision.

        Probabilities are read on held-out questions, cosines on all. Raises NotFound,
        InvalidInput.
        """
        return self._calibrator().floors(set_name, recipe)

    def _calibrator(self) -> Calibrator:
        return Calibrator(self._services, self._base_id)

    def tuner(self, set_name: str) -> Tuner:
        """For a recipe that changes all the time: figures at once, and the best of a grid.

        Sees the questions, documents and calibrations of now. Raises NotFound, InvalidInput
        without labels.
        """
        return Tuner(self._services, self._base_id, set_name)

    def gate(
        self,
        set_name: str,
        recipe: Recipe,
        least: Mapping[str, float],
        baseline_id: str | None = None,
        tolerance: float = 0.0,
        tell: Tell = lambda _done, _total: None,
    ) -> GateResult:
        """Evaluates a recipe and holds it against least values and a baseline run.

        Raises NotFound, InvalidInput.
        """
        gate = Gate(self._services, self._base_id)
        return gate.check(set_name, recipe, least, baseline_id, tolerance, tell)

    def runs(self, set_name: str | None = None) -> list[Run]:
        """All kept runs, or those of one question set, newest first."""
        return self._history.every(set_name)

    def run(self, run_id: str) -> Run:
        """One run. Raises NotFound."""
        return self._history.get(run_id)

    def run_results(self, run_id: str) -> list[QuestionResult]:
        """What happened to every question of a run. Raises NotFound."""
        return self._history.results(run_id)

    def intervals(self, run_id: str) -> dict[str, Interval]:
        """The 95 % interval of every mean of a run, by metric. Raises NotFound."""
        return RunFigures(self._services.database, self._base_id).intervals(run_id)

    def by_tag(self, run_id: str, metrics: Sequence[str]) -> list[TagFigures]:
        """Means and intervals of a run for each tag of its questions. Raises NotFound."""
        return RunFigures(self._services.database, self._base_id).by_tag(run_id, metrics)

    def unjudged(self, run_id: str, k: int = 10) -> UnjudgedShare | None:
        """Hits among the first k of a run that nobody judged, and how far they could move it.

        None where no question of its set is labelled any more. Raises NotFound.
        """
        return RunFigures(self._services.database, self._base_id).unjudged(run_id, k)

    def delete_run(self, run_id: str) -> None:
        """Deletes a run. Raises NotFound."""
        self._history.remove(run_id)

    def set_note(self, run_id: str, note: str) -> None:
        """Replaces the note of a run. Raises NotFound, InvalidInput."""
        self._history.set_note(run_id, note)

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        """Replaces the tags of a run. Raises NotFound, InvalidInput."""
        self._history.set_tags(run_id, tags)

    def pin_baseline(self, run_id: str) -> None:
        """Makes a run what others of its question set are measured against. Raises NotFound."""
        self._history.pin(run_id)

    def unpin_baseline(self, set_name: str) -> None:
        """Leaves a question set without a baseline."""
        self._history.unpin(set_name)

    def baseline(self, set_name: str) -> Run | None:
        """The pinned run of a question set, or None."""
        return self._history.baseline(set_name)

    def leaderboard(self, set_name: str, metric: str = LEADING) -> list[LeaderboardRow]:
        """The runs of a question set with intervals, best first."""
        return self._history.leaderboard(set_name, metric)

    def compare(
        self,
        run_ids: Sequence[str],
        baseline_id: str,
        metric: str = LEADING,
        held_out: Collection[str] | None = None,
    ) -> list[RunComparison]:
        """Runs against a baseline, question by question, with corrected p-values.

        ``held_out`` restricts the comparison to questions by id. Raises NotFound, InvalidInput.
        """
        return self._history.compare(run_ids, baseline_id, metric, held_out)

    def regressions(self, run_id: str, metric: str = LEADING) -> list[QuestionDifference]:
        """Questions that got worse than in the pinned baseline, the largest loss first.

        Raises NotFound, also where the question set has no baseline.
        """
        run = self._history.get(run_id)
        baseline = self._history.baseline(run.question_set)
        if baseline is None:
            raise NotFound(
                f"{run.question_set!r} has no baseline.", "Pin the run to measure others against."
            )
        return list(self._history.compare([run_id], baseline.id, metric)[0].regressions)

    def side_by_side(self, run_id: str, baseline_id: str, question_id: str) -> SideBySide:
        """What two runs retrieved for one question, and what moved. Raises NotFound."""
        return Rankings(self._services.database, self._base_id).side_by_side(
            run_id, baseline_id, question_id
        )

    def report(self, run_id: str, baseline_id: str | None = None) -> str:
        """A run as one HTML file that opens anywhere, against the pinned baseline or another run.

        Raises NotFound, InvalidInput where the two runs cannot be compared.
        """
        return Reporter(self._services, self._base_id).html(run_id, baseline_id)
