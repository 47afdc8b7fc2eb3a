"""Whether memory helps: one question set answered with and without past interactions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rag.errors import InvalidInput
from rag.evaluation.comparison import Comparison
from rag.evaluation.intervals import as_percent, signed
from rag.evaluation.report.words import counted
from rag.jobs import JobRow
from rag.operation import operation
from rag.recipe import Recipe
from rag.runs.history import RunHistory
from rag.runs.quality.answer_job import AnswerEvaluations
from rag.runs.quality.spending import UNLIMITED, Budget

USUAL = 3
"""Past interactions that are shown where the recipe shows none."""
LEADING = ("judged_correctness", "token_f1", "citation_recall", "groundedness")
"""The first of these that both runs measured decides; the others are shown beside it."""
_TITLES = {
    "judged_correctness": "correctness by the judge",
    "token_f1": "token F1",
    "citation_recall": "citation recall",
    "groundedness": "groundedness",
}


@dataclass(frozen=True, slots=True)
class MemoryEffect:
    """A run with past interactions as examples against one without, question by question.

    ``figures`` is the comparison in the measure that decides, which was chosen before anything was
    measured; ``others`` are those in the rest, corrected together. Of
    ``questions``, ``shown`` had at least one example, so only these can differ by it.
    """

    run: str
    without: str
    figures: Comparison
    others: Mapping[str, Comparison]
    questions: int
    shown: int

    @property
    def measures(self) -> Mapping[str, Comparison]:
        """All comparisons by metric, the one that decides first."""
        return {self.figures.metric: self.figures, **self.others}

    @property
    def sentence(self) -> str:
        """The result in plain English, to be quoted as it is."""
        questions = counted(self.questions, "question")
        if not self.shown:
            return f"Memory changed nothing: it had no example for any of {questions}."
        comparison, title = self.figures, _TITLES[self.figures.metric]
        low, high = comparison.interval
        ends = f"{as_percent(comparison.confidence)} interval {signed(low)} to {signed(high)}"
        amount = f"{abs(comparison.difference):.3f} ({ends})"
        sample = f"{questions}, {self.shown:,} of them with examples"
        match comparison.verdict:
            case "better":
                return f"Memory helps: {title} is higher by {amount}, {sample}."
            case "worse":
                return f"Memory makes answers worse: {title} is lower by {amount}, {sample}."
            case "incomparable":
                return f"The two runs do not compare: {comparison.obstacle}. Measure both again."
        way = "higher" if comparison.difference > 0 else "lower"
        if comparison.all_tied:
            return f"Memory changed nothing: {title} is the same on all of {sample}."
        return (
            f"The questions are too few to tell whether memory helps: {title} is {way} by "
            f"{amount}, {sample}."
        )


class MemoryTrials(AnswerEvaluations, RunHistory):
    """Measurements of whether the memory of a visitor helps with the questions of a set."""

    @operation("editor", audit="evaluation")
    def start_memory_trial(
        self, set_name: str, recipe: Recipe, *, judge: str = "", budget: Budget = UNLIMITED
    ) -> tuple[int, int]:
        """Queue two evaluations with answers, without memory and with it; return the jobs.

        Each may spend the ``budget``. A question's own past interactions are no examples. Raises as
        ``start_answers``, and InvalidInput where no language model answers.
        """
        before, after = both(recipe)
        queued = [
            self.start_answers(set_name, variant, judge=judge, budget=budget)
            for variant in (before, after)
        ]
        return queued[0], queued[1]

    @operation("viewer")
    def memory_trial_jobs(self, set_name: str, recipe: Recipe, judge: str = "") -> list[JobRow]:
        """The last two such evaluations, as far as there are any: without memory, with it."""
        latest = (self.latest_answers(set_name, variant, judge) for variant in both(recipe))
        return [job for job in latest if job is not None]

    @operation("viewer")
    def memory_effect(self, set_name: str, recipe: Recipe, judge: str = "") -> MemoryEffect | None:
        """Return the effect in the last two runs; None if one is missing, running or paused."""
        jobs = self.memory_trial_jobs(set_name, recipe, judge)
        runs = {run.id: run for run in self.list_all(set_name)}
        ids = [str(job.payload["run"]) for job in jobs]
        if len(ids) < 2 or any(run_id not in runs for run_id in ids):
            return None
        without, run = ids
        measured = runs[run].metrics.keys() & runs[without].metrics.keys()
        leading = next((name for name in LEADING if name in measured), None)
        if leading is None:
            return None
        rest = [name for name in LEADING if name != leading]
        answers = self.answers(run)
        return MemoryEffect(
            run,
            without,
            self.changes(run, without, [leading])[leading],
            self.changes(run, without, rest),
            len(answers),
            sum(answer.examples > 0 for answer in answers.values()),
        )


def both(recipe: Recipe) -> tuple[Recipe, Recipe]:
    """A recipe without past interactions and with. Raises InvalidInput where no model answers."""
    if recipe.answer.provider == "extractive":
        raise InvalidInput(
            "Quotes need no language model, so memory cannot change them.",
            "Choose a provider of answers (answer.provider).",
        )
    most = recipe.answer.memory or USUAL
    return recipe.with_fields({"answer.memory": 0}), recipe.with_fields({"answer.memory": most})
