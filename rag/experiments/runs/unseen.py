"""Runs as an agent sees them: figures of the tuning questions, and verdicts on the others.

An agent can try hundreds of recipes. What it sees of each, and chooses by, are the tuning
questions of the set. The held-out questions only answer whether a run beats a baseline. Each such
look counts among the searches of the set, which share the risk of a false winner.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from rag.errors import InvalidInput
from rag.evaluation.comparison import CROWNING_P, Comparison, compare
from rag.evaluation.splits import Split
from rag.experiments.runs.history import RunHistory, common_ground
from rag.experiments.runs.stored import Loaded, by_labels_of_today, questions_of_set, same_questions
from rag.library.questions.groups import groups_of, split_questions
from rag.library.questions.trial_log import Attempt, TrialLog, name_of
from rag.operation import operation
from rag.storage.access import tokens
from rag.storage.access.tokens import AgentCall
from rag.storage.runs import Trial
from rag.types.results import Run

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class TuningFigures:
    """A run on the tuning questions of its set; ``metrics`` are means over them.

    ``worst`` are questions of them by id, the lowest figure of the leading metric first.
    """

    run: Run
    questions: int
    unseen: int
    metrics: Mapping[str, float]
    worst: Sequence[str]


class UnseenQuestions(RunHistory):
    """The two parts of question sets, for those who tune by one and are judged by the other."""

    @operation("viewer")
    def tuning_part(self, set_name: str) -> Split:
        """Return the split of a set; all are for tuning where it is too small to be split.

        Raises NotFound.
        """
        question_set, questions = self._database.fetch(questions_of_set, self._base_id, set_name)
        try:
            return split_questions(questions, question_set.split_share, question_set.split_seed)
        except InvalidInput:
            return Split(tuple(question.id for question in questions), ())

    @operation("viewer")
    def on_tuning(self, run_id: str, metric: str, worst: int = 5) -> TuningFigures:
        """Return the figures of a run on the tuning questions. Raises NotFound, InvalidInput."""
        loaded = self._database.fetch(Loaded.read, self._base_id, run_id)
        parts = self.tuning_part(loaded.run.question_set)
        means, tuning = dict[str, float](), set(parts.tuning)
        for name in loaded.run.metrics:
            if values := loaded.figures(name, tuning):
                means[name] = fmean(values.values())
        ranked = sorted(loaded.figures(metric, tuning).items(), key=lambda item: (item[1], item[0]))
        questions = sum(name in tuning for name in loaded.results)
        unseen = len(loaded.results) - questions
        return TuningFigures(
            loaded.run, questions, unseen, means, [name for name, _ in ranked[:worst]]
        )

    @operation("viewer")
    def compare_on_tuning(self, run_id: str, baseline_id: str, metric: str) -> Comparison:
        """Compare two runs on the tuning questions, where no verdict counts.

        Raises NotFound, InvalidInput.
        """
        parts = self.tuning_part(self.get(run_id).question_set)
        return self._compared(run_id, baseline_id, metric, parts.tuning, "tuning")

    @operation("editor", audit="evaluation")
    def compare_on_unseen(
        self, run_id: str, baseline_id: str, metric: str
    ) -> tuple[Comparison, Attempt]:
        """Compare two runs on the held-out questions; each pair and metric is one look.

        Raises NotFound, InvalidInput for a set that is too small to be split.
        """
        run, baseline = self.get(run_id), self.get(baseline_id)
        parts = self.tuning_part(run.question_set)
        if not parts.held_out:
            raise InvalidInput(
                f"{run.question_set!r} has too few questions to hold some out.",
                "Ask people for more labelled questions; until then, no change is justified.",
            )
        seen = self._compared(run_id, baseline_id, metric, parts.held_out, "held-out")
        question_set, _ = self._database.fetch(questions_of_set, self._base_id, run.question_set)
        look = Trial(
            family="search",
            look=name_of("unseen", metric, *sorted(seen.differences.items())),
            kind="comparison",
            metric=metric,
            alternatives=1,
            recipes=(run.source_hash, baseline.source_hash),
            split_seed=question_set.split_seed,
            split_share=question_set.split_share,
        )
        attempt = TrialLog(self._database, self._base_id).note(run.question_set, look)
        verdict = self._compared(
            run_id, baseline_id, metric, parts.held_out, "held-out", attempt.level
        )
        return verdict, attempt

    @operation("editor", audit="evaluation")
    def note_trial(self, set_name: str, recipe_hash: str, metric: str) -> int:
        """Count a recipe that was tried on the tuning questions; how many there are by now."""
        log = TrialLog(self._database, self._base_id)
        look = Trial("trial", name_of(recipe_hash, metric), "trial", metric, 1, (recipe_hash,))
        log.note(set_name, look)
        return sum(trial.family == "trial" for trial in log.list_all(set_name))

    @operation("viewer")
    def agent_calls(self) -> list[AgentCall]:
        """Return what agents did in this knowledge base, newest first."""
        return self._database.fetch(tokens.calls_of_base, self._base_id, _SHOWN)

    def _compared(
        self,
        run_id: str,
        baseline_id: str,
        metric: str,
        only: Collection[str],
        kind: str,
        alpha: float = CROWNING_P,
    ) -> Comparison:
        with self._database.read() as connection:
            read = [Loaded.read(connection, self._base_id, key) for key in (run_id, baseline_id)]
            run, baseline = by_labels_of_today(connection, read, metric)
            if run.run.question_set != baseline.run.question_set:
                raise InvalidInput("The runs measured different question sets.", "Compare others.")
            _, questions = questions_of_set(connection, self._base_id, run.run.question_set)
            groups = groups_of(questions)
            ground = common_ground(connection, baseline.run, run.differences(baseline), only)
        among, obstacle = ground.by(metric, run.run, baseline.run)
        mine = same_questions(run.figures(metric, among), run, baseline.texts)
        theirs = baseline.figures(metric, among)
        tested = compare(metric, mine, theirs, alpha=alpha, kind=kind, groups=groups)
        figures = {metric: replace(tested, obstacle=obstacle)}
        return self._doubted(run, baseline, figures, groups)[metric]
