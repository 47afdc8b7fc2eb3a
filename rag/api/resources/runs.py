"""Evaluations and their runs: measure, list, compare, report."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import ConfigDict, Field

from rag import (
    Budget,
    Grid,
    InvalidInput,
    KnowledgeBase,
    QuestionResult,
    Recipe,
    Run,
    SplitSelection,
    answers_spent_data,
    measured_data,
    result_data,
)
from rag.api.admission import require
from rag.api.resource import Base, Body, Maker, Part, Resource, Shared, moment, needs
from rag.api.resources.documents import queued
from rag.api.resources.jobs import EXAMPLE as JOB
from rag.api.resources.question_sets import SetName, set_called
from rag.api.threads import dear

EXAMPLE = {
    "run": "3f9a1c2b7d10",
    "recipe": Recipe().hash,
    "set": "policies",
    "questions": 36,
    "metrics": {"ndcg@10": 0.81, "recall@10": 0.92},
    "created": "2026-01-02T03:04:05+00:00",
    "seconds": 1.4,
    "note": "",
    "tags": [],
}
_LIST = {"items": [EXAMPLE], "total": 1, "next": None}
_OF_ANSWERS = {"judge", "most", "most_tokens", "most_money"}
_QUEUED = needs("write", 400, 404, 409, 415, example=JOB, status_code=202)

runs = Resource("runs")


class ToMeasure(Body):
    """An evaluation to run: a recipe as in a search, on a question set."""

    set: str = Field(description="the id of a question set, or its name")
    recipe: dict[str, Any] | None = Field(None, description="a whole recipe")
    fields: dict[str, Any] = Field({}, description="fields that differ, by dotted name")

    def recipe_of(self, base: KnowledgeBase) -> Recipe:
        """The recipe that is meant. Raises InvalidRecipe."""
        start = base.recipe() if self.recipe is None else Recipe.parse(self.recipe)
        return start.with_fields(self.fields)


class ToEvaluate(ToMeasure):
    """A recipe to measure, and whether the answers too, which may cost money."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"set": "policies", "fields": {"search.top_k": 5}, "answers": True}]
        }
    )

    answers: bool = Field(False, description="answer every question too; takes the scope `ask`")
    judge: str = Field(
        "",
        max_length=200,
        pattern=r"^[^\x00-\x1f]*$",
        description="a chat model that grades the answers, PROVIDER:MODEL",
    )
    most: int | None = Field(None, ge=1, description="pause after so many answers")
    most_tokens: int | None = Field(None, ge=1, description="pause after so many tokens")
    most_money: float | None = Field(
        None, gt=0, description="pause after so much, where the price is known"
    )

    def start(self, base: KnowledgeBase) -> int:
        """Queues the evaluation; returns the job. Raises as the evaluations do."""
        name, recipe = set_called(base, self.set).name, self.recipe_of(base)
        if not self.answers:
            return base.evaluations.start(name, recipe)
        budget = Budget(self.most, self.most_tokens, self.most_money)
        return base.answer_evaluations.start(name, recipe, judge=self.judge, budget=budget)


class ToSweep(ToMeasure):
    """A grid of recipes to measure: values by field."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "set": "policies",
                    "grid": {"search.top_k": [3, 5, 10], "search.mode": ["hybrid", "dense"]},
                }
            ]
        }
    )

    grid: dict[str, list[Any]]
    metric: str = "ndcg@10"


@runs.post("/knowledge-bases/{kb}/evaluations", **_QUEUED)
@dear
def start_evaluation(
    request: Request, workspace: Shared, base: Base, body: ToEvaluate, once: Maker
) -> Response:
    """Queues an evaluation; ``run`` of the job is the id of the run that comes of it.

    With ``answers`` every question is answered and its answer measured too, by ``judge`` as well
    where one is named. A job that paused goes on with what it has when it is asked for again.
    """
    if body.answers:
        require(request, "ask")
    elif body.model_fields_set & _OF_ANSWERS:
        raise InvalidInput("Only answers have a judge and a budget.", "Send answers: true.")

    def make() -> Any:
        return queued(request, workspace, body.start(base))

    return once(body.model_dump(), make)


@runs.post("/knowledge-bases/{kb}/sweeps", **_QUEUED)
@dear
def start_sweep(
    request: Request, workspace: Shared, base: Base, body: ToSweep, once: Maker
) -> Response:
    """Queues the search for the best recipe of a grid, judged by cross-validation."""

    def make() -> Any:
        name, recipe = set_called(base, body.set).name, body.recipe_of(base)
        Grid.parse(body.grid, recipe)
        start = base.tuning.searches.start
        return queued(request, workspace, start(name, body.grid, recipe, recipe, body.metric))

    return once(body.model_dump(), make)


@runs.get("/knowledge-bases/{kb}/sweeps/{questions}", **needs("read", 404))
def get_sweep(base: Base, questions: SetName) -> Any:
    """Return the result of a question set's last sweep; ``result`` is null if there is none."""
    found = base.tuning.searches.result(set_called(base, questions).name)
    if found is None:
        return {"result": None}
    chosen = found.selection
    on_tuning = chosen if isinstance(chosen, SplitSelection) else None
    return {
        "result": {
            "recipe": found.recipe.model_dump(mode="json"),
            "hash": found.recipe.hash,
            "changes": {
                name: after for name, (_, after) in found.baseline.differences(found.recipe).items()
            },
            "tried": chosen.tried,
            "questions": on_tuning.tuning_questions
            if on_tuning
            else len(chosen.comparison.differences),
            "comparison": _comparison(chosen.comparison),
            "leaders": [
                {"figure": leader.figure, "fields": dict(leader.fields)} for leader in found.leaders
            ],
        }
    }


@runs.get("/knowledge-bases/{kb}/runs", **needs("read", 404, example=_LIST))
def list_runs(
    request: Request,
    base: Base,
    part: Part,
    set: Annotated[str | None, Query(description="only runs of this question set")] = None,
) -> Any:
    """The runs of a knowledge base, newest first."""
    return part.of(request, base.runs.every(set), run_data)


@runs.get("/knowledge-bases/{kb}/runs/{run}", **needs("read", 404, example=EXAMPLE))
@dear
def get_run(base: Base, run: str) -> Any:
    """One run with its recipe, the 95% interval of every mean, and what its answers took."""
    found = base.runs.get(run)
    intervals = {name: list(pair) for name, pair in base.run_figures.intervals(run).items()}
    recipe = {"recipe_fields": found.recipe.model_dump(mode="json")}
    given = base.answer_evaluations.answers(found.id)
    spent = answers_spent_data(given.values()) if given else None
    return run_data(found) | recipe | {"intervals": intervals, "answers_spent": spent}


@runs.get("/knowledge-bases/{kb}/runs/{run}/questions", **needs("read", 404))
@dear
def list_run_results(request: Request, base: Base, run: str, part: Part) -> Any:
    """Return the result of every question of a run, with its ``answer`` if it was answered."""
    given = base.answer_evaluations.answers(base.runs.get(run).id)

    def shown(found: QuestionResult) -> dict[str, Any]:
        answer = given.get(found.question_id)
        return result_data(found) | {"answer": None if answer is None else asdict(answer)}

    return part.of(request, base.runs.results(run), shown)


@runs.get("/knowledge-bases/{kb}/runs/{run}/comparison", **needs("read", 404))
@dear
def compare_runs(
    base: Base,
    run: str,
    baseline: Annotated[str, Query(description="the run that it is held against")],
    metric: Annotated[str, Query(description="by which metric")] = "ndcg@10",
) -> Any:
    """A run against another one: the test, and every question, largest difference first."""
    (found,) = base.runs.compare([run], baseline, metric)
    return {
        "run": run,
        "baseline": baseline,
        **_comparison(found.figures),
        "changes": list(found.chips),
        "caveats": list(found.caveats),
        "questions": [
            {
                "id": row.question_id,
                "question": row.text,
                "before": row.before,
                "after": row.after,
                "difference": row.difference,
            }
            for row in found.rows
        ],
    }


@runs.get(
    "/knowledge-bases/{kb}/runs/{run}/report", **needs("read", 404), response_class=HTMLResponse
)
@dear
def get_report(base: Base, run: str, baseline: str | None = None) -> HTMLResponse:
    """A run as one HTML file that opens anywhere."""
    page = base.reports.html(run, baseline)
    name = {"Content-Disposition": f'attachment; filename="{base.runs.get(run).id}.html"'}
    return HTMLResponse(page.encode("utf-8", "replace"), headers=name)


@runs.delete("/knowledge-bases/{kb}/runs/{run}", **needs("write", 404, status_code=204))
def delete_run(base: Base, run: str) -> Response:
    """Deletes a run."""
    base.runs.remove(run)
    return Response(status_code=204)


def run_data(run: Run) -> dict[str, Any]:
    """A run as plain data."""
    told = {"created": moment(run.created), "seconds": run.seconds, "note": run.note}
    return measured_data(run) | told | {"tags": list(run.tags)}


def _comparison(found: Any) -> dict[str, Any]:
    return {
        "metric": found.metric,
        "mean": found.mean,
        "baseline_mean": found.baseline,
        "difference": found.difference,
        "interval": list(found.interval),
        "p": found.p,
        "verdict": found.verdict,
        "doubt": found.doubt,
        "sentence": found.sentence,
    }
