"""Diagnosis of one question set with one recipe."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from rag.evaluation.report.words import counted
from rag.experiments.tuning.diagnosis.causes import (
    CAUSES,
    LEAST_ON_TOPIC,
    Cause,
    FailedQuestion,
    advice,
)
from rag.experiments.tuning.diagnosis.examining import Examination
from rag.experiments.tuning.diagnosis.fixes import Trials, calibration_note, metric_depth, try_fixes
from rag.experiments.tuning.diagnosis.next_steps import (
    TYPICAL,
    Basis,
    LabellingPace,
    LargerTopK,
    NextStep,
    labelling_pace,
    larger_top_k,
    next_steps,
)
from rag.experiments.tuning.diagnosis.trial_builds import Rebuild, find_rebuild
from rag.experiments.tuning.sweeper import Sweeper, WeightedProgress
from rag.experiments.tuning.tuner import read_measured
from rag.languages import language_name
from rag.providers import multilingual_embedders
from rag.recipe import Recipe
from rag.services.services import Services
from rag.types import ProgressCallback

_PART = 1000.0  # of progress, for the examination and for the trials
_PLURAL = "indexes were", "They are", "them"


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The failed questions of a set with their causes, and the fixes that were tried.

    ``rebuild`` has the changes of the index that were not. ``labels`` counts those of all asked
    questions, and ``pace`` is the time that one takes. ``untried`` counts indexes that were built
    to be tried and could not be.

    A question failed if nDCG at top-k of the passages in its prompt is below one half, or if its
    answer was refused or doubtful all the same, or lacks the expected one, in the newest run that
    scored answers; one without an answer, if what answers it is neither refused nor doubtful.
    One that got the expected answer in that run does not fail by the rank of its passages.
    ``scored_run`` is the id of that run, "" for none; ``state`` names all else that it rests on.
    ``can_rerank`` says whether a reranker could be added.
    """

    question_set: str
    recipe: Recipe
    state: str
    asked: int
    questions: tuple[FailedQuestion, ...]
    trials: Trials
    rebuild: Rebuild | None = None
    labels: int = 0
    pace: LabellingPace = TYPICAL
    untried: int = 0
    scored_run: str = ""
    can_rerank: bool = True

    @property
    def causes(self) -> dict[Cause, int]:
        """The number of failed questions by cause, most frequent first, equal ones as in CAUSES."""
        counts = Counter(question.cause for question in self.questions)
        causes = [cause for cause in CAUSES if cause in counts]
        return {cause: counts[cause] for cause in sorted(causes, key=lambda one: -counts[one])}

    def failed(self, question_id: str) -> FailedQuestion | None:
        """A question with its cause; None if it did not fail."""
        return next((one for one in self.questions if one.id == question_id), None)

    def advice(self, cause: Cause) -> str:
        """Return the advice against a cause, for the recipe that was diagnosed.

        It says so where changes were tried and none gains, or by other questions alone. What
        returns a passage that is below top-k needs no trial.
        """
        if cause == "top_k" and self.larger is not None:
            addable = self.can_rerank and not self.recipe.search.rerank
            other = " Or add a reranker." if addable else ""
            return f"Return more passages. {self.larger.sentence}{other}"
        return advice(
            cause,
            self.recipe,
            without_gain=self.trials.gain_nothing(cause),
            helps_others=cause in self.trials.helping_others,
            can_rerank=self.can_rerank,
            can_limit=self.can_limit,
        )

    @property
    def larger(self) -> LargerTopK | None:
        """A top-k that returns passages that are below it; None where no question lacks one."""
        return larger_top_k(self.recipe, self.questions)

    @property
    def can_limit(self) -> bool:
        """Whether a limit of off-topic questions refuses a failed one, and none with an answer."""
        figures = [one.finding.figures for one in self.questions if one.cause == "answered"]
        return any(
            LEAST_ON_TOPIC in found and found["probability"] < found[LEAST_ON_TOPIC]
            for found in figures
        )

    @property
    def next_steps(self) -> list[NextStep]:
        """The steps to take next, the best first; empty where no question failed."""
        if not self.questions:
            return []
        parts = self.asked, self.labels, self.trials, self.rebuild, self.pace
        note = calibration_note(self.causes, self.recipe)
        advisable = self.can_rerank, self.larger, self.can_limit
        basis = Basis(self.recipe, *parts, note, self.causes, *advisable)
        return next_steps(basis)

    @property
    def note(self) -> str:
        """Advice that no trial covers, and why changes were not proposed or not tried, or ""."""
        untried = ""
        if self.untried:
            indexes, they, them = ("index was", "It is", "it") if self.untried == 1 else _PLURAL
            untried = (
                f"{self.untried:,} {indexes} built and could not be tried. "
                f"{they} kept: delete {them} on Documents."
            )
        reasons = self._languages(), calibration_note(self.causes, self.recipe), untried
        return " ".join(filter(None, reasons))

    def _languages(self) -> str:
        """The advice for failed questions in languages that the embedder does not know."""
        failed = [one for one in self.questions if one.cause != "answered"]  # no passage is missing
        codes = Counter(one.lacking for one in failed if one.lacking)
        if not codes or self.recipe.search.mode == "lexical":
            return ""
        number = codes.total()
        are = f"{counted(number, 'failed question')} {'is' if number == 1 else 'are'}"
        names = " and ".join(language_name(code) for code, _ in codes.most_common())
        return (
            f"{are} in {names}, which {self.recipe.index.embedder} does not support. "
            f"Compare an index with {multilingual_embedders()[0]} on Tuning."
        )

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        if not self.questions:
            return f"None of {self.asked:,} questions failed."
        headline = f"{len(self.questions):,} of {self.asked:,} questions failed"
        answers: list[Cause] = ["doubted", "unexpected"]
        article = "a" if "doubted" in self.causes else "an"
        names = {"doubted": "doubtful"}
        kinds = " or ".join(names.get(one, one) for one in answers if one in self.causes)
        if by_answer := sum(self.causes.get(cause, 0) for cause in answers):
            which = f"{article} {kinds} answer of the last run that scored answers"
            some = by_answer < len(self.questions)
            headline += f", {f'{by_answer:,} of them only' if some else 'all'} by {which}"
        return f"{headline}."


def diagnosed(
    services: Services,
    base_id: int,
    set_name: str,
    recipe: Recipe,
    on_progress: ProgressCallback = lambda _done, _total: None,
) -> Diagnosis:
    """Examine the failed questions of a set, and try fixes.

    Raises NotFound for an unknown set, InvalidInput when no question is labelled.
    """
    question_set, rests_on = read_measured(services, base_id, set_name, recipe)
    sweeper = Sweeper(services, question_set)
    examination = Examination(services, base_id, sweeper, recipe)
    effort = WeightedProgress(on_progress, 2 * _PART)
    with effort.part(_PART) as progress:
        failed = examination.failed(progress)
    trials = Trials(f"ndcg@{metric_depth(recipe)}")
    parts = question_set.parts
    if failed and parts is None:
        note = "The set is too small to choose fixes on one half and measure them on the other."
        trials = Trials(trials.metric, note=note)
    elif failed and parts is not None:
        groups = question_set.groups
        with effort.part(_PART) as progress:
            trials = try_fixes(services, base_id, examination, failed, parts, groups, progress)
    rebuild = find_rebuild(services, base_id, examination, failed) if parts is not None else None
    pace = services.database.fetch(labelling_pace, base_id)
    labels = sum(len(question.evidence) for question in examination.questions)
    count = len(examination.questions)
    outcome = tuple(failed), trials, rebuild, labels, pace
    return Diagnosis(
        set_name,
        recipe,
        rests_on,
        count,
        *outcome,
        scored_run=examination.scored_run,
        can_rerank=services.models.can_rerank(recipe.answer),
    )
