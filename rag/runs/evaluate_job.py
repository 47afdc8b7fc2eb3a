"""Evaluations in the background: asked for once, stored once, whatever happens to the process."""

from __future__ import annotations

from rag.jobs import JobRow, Jobs, Reporter
from rag.operation import ALL, operation
from rag.recipe import Recipe
from rag.runs.evaluator import Evaluator, new_run_id
from rag.search.tools import refuse_tools
from rag.services import Services
from rag.storage import questions, runs

JOB = "evaluate"


class Evaluations:
    """The evaluations of one knowledge base that run as jobs."""

    def __init__(self, services: Services, jobs: Jobs, base_id: int) -> None:
        self._evaluator = Evaluator(services, base_id)
        self._database = services.database
        self._jobs = jobs
        self._base_id = base_id

    @operation("editor", audit="evaluation", audited_arguments=ALL)
    def start(
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
        self._evaluator.questions(set_name, refusals_alone=True, without_users=without_users)
        # The run is named here: who does the job a second time finds the run of the first.
        payload = {
            "set": set_name,
            "recipe": recipe.model_dump(mode="json"),
            "run": new_run_id(),
            "ignore_identical": ignore_identical,
            "without_users": without_users,
        }
        title = f"Evaluating {set_name}"
        return self._jobs.submit_once(self._base_id, JOB, title, _about(set_name, recipe), payload)

    @operation("guest")
    def alike(self, set_name: str) -> int:
        """Count the questions of a set whose id is the name of a document. Raises NotFound."""
        with self._database.read() as connection:
            question_set = questions.get_question_set(connection, self._base_id, set_name)
            return questions.count_named_like_documents(connection, self._base_id, question_set.id)

    @operation("guest")
    def latest(self, set_name: str, recipe: Recipe) -> JobRow | None:
        """The last evaluation of a set with a recipe, at work or over."""
        return self._jobs.latest(self._base_id, JOB, _about(set_name, recipe))


def _about(set_name: str, recipe: Recipe) -> dict[str, str]:
    return {"set": set_name, "recipe": recipe.hash}


def evaluate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "evaluate"; one whose run is stored already has only to end."""
    set_name, run_id = str(job.payload["set"]), str(job.payload["run"])
    with services.database.read() as connection:
        stored = runs.run_exists(connection, run_id)
    if not stored:

        def on_progress(done: int, total: int) -> None:
            reporter.report(done, total, f"{done:,} of {total:,} questions")

        reporter.report(0, 0, "reading the index")
        recipe = Recipe.restore(job.payload["recipe"])
        Evaluator(services, job.base_id).evaluate(
            set_name,
            recipe,
            on_progress=on_progress,
            run_id=run_id,
            ignore_identical=bool(job.payload.get("ignore_identical")),
            without_users=bool(job.payload.get("without_users")),
        )
    return f"Run {run_id} is stored."
