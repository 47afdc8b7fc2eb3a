"""Evaluations in the background: asked for once, stored once, whatever happens to the process."""

from __future__ import annotations

from rag.experiments.runs.evaluator import Evaluator, new_run_id
from rag.experiments.runs.stored import StoredRuns
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.search.tools import refuse_tools
from rag.services.jobs import Job, JobRow, Jobs, Reporter, StoredRecipe
from rag.services.services import Services
from rag.storage import questions, runs


class Evaluate(Job[None]):
    """An evaluation of a set; the run is named here, so who does the job again finds the run."""

    kind = "evaluate"
    set: str
    recipe: StoredRecipe
    run: str
    ignore_identical: bool = False
    without_users: bool = False


class Evaluations(StoredRuns):
    """The evaluations of one knowledge base that run as jobs."""

    _services: Services
    _jobs: Jobs

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def start_evaluation(
        self,
        set_name: str,
        recipe: Recipe,
        *,
        ignore_identical: bool = False,
        without_users: bool = False,
    ) -> int:
        """Queue an evaluation; return the job, also where one is at the same already.

        ``ignore_identical`` and ``without_users`` are as in ``Evaluator.evaluate``.

        Raises NotFound and InvalidInput as ``Evaluator.evaluate`` does, before anything is queued.
        """
        refuse_tools(recipe.search)
        evaluator = Evaluator(self._services, self._base_id)
        evaluator.questions(set_name, refusals_alone=True, without_users=without_users)
        job = Evaluate(
            set=set_name,
            recipe=recipe,
            run=new_run_id(),
            ignore_identical=ignore_identical,
            without_users=without_users,
            about={"set": set_name, "recipe": recipe.hash},
        )
        return self._jobs.submit_once(self._base_id, f"Evaluating {set_name}", job)

    @operation("guest")
    def alike(self, set_name: str) -> int:
        """Count the questions of a set whose id is the name of a document. Raises NotFound."""
        with self._database.read() as connection:
            question_set = questions.get_question_set(connection, self._base_id, set_name)
            return questions.count_named_like_documents(connection, self._base_id, question_set.id)

    @operation("guest")
    def latest_evaluation(self, set_name: str, recipe: Recipe) -> JobRow | None:
        """The last evaluation of a set with a recipe, at work or over."""
        return self._jobs.latest(self._base_id, Evaluate, set=set_name, recipe=recipe.hash)


def evaluate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "evaluate"; one whose run is stored already has only to end."""
    evaluation = Evaluate.of(job)
    stored = services.database.fetch(runs.run_exists, evaluation.run)
    if not stored:

        def on_progress(done: int, total: int) -> None:
            reporter.report(done, total, f"{done:,} of {total:,} questions")

        reporter.report(0, 0, "reading the index")
        Evaluator(services, job.base_id).evaluate(
            evaluation.set,
            evaluation.recipe,
            on_progress=on_progress,
            run_id=evaluation.run,
            ignore_identical=evaluation.ignore_identical,
            without_users=evaluation.without_users,
        )
    return f"Run {evaluation.run} is stored."
