"""Evaluations and their runs, decisions between two runs by few labels, and diagnoses."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from fastapi.responses import HTMLResponse
from pydantic import Field

from rag import (
    EQUAL_MARGIN,
    AnswersSpentData,
    Budget,
    DecisionData,
    DecisionEntryData,
    DiagnosisData,
    InvalidInput,
    KnowledgeBase,
    LeaderData,
    ParityData,
    QuestionResult,
    Recipe,
    ResultData,
    RunAnswer,
    RunData,
    Schema,
    SplitSelection,
    answers_spent_data,
    attribute,
    decision_entry_data,
    diagnosis_data,
)
from rag.api.admission import require
from rag.api.resource import Base, Body, Page, Part, Resource, needs
from rag.api.resources.jobs import JobData, Queue
from rag.api.resources.question_sets import SetName, set_called
from rag.api.resources.recipes import RecipeRequest
from rag.api.threads import dear

EXAMPLE: dict[str, Any] = {
    "run": "3f9a1c2b7d10",
    "recipe": Recipe().hash,
    "system": None,
    "set": "policies",
    "questions": 36,
    "metrics": {"ndcg@10": 0.81, "recall@10": 0.92},
    "context_tokens": 1092.0,
    "cautions": [],
    "created": "2026-01-02T03:04:05+00:00",
    "seconds": 1.4,
    "note": "",
    "tags": [],
}
_OF_ANSWERS = ("judge", "most", "most_tokens", "most_money")
_QUEUED = needs("write", 400, 404, 409, 415, response_model=JobData, status_code=202)


runs = Resource("runs")


class RunDetailData(RunData):
    """A run with its recipe, the 95% interval of every mean, and the costs of its answers."""

    recipe_fields: Recipe | None = attribute("recipe", description="null for a system")
    intervals: dict[str, list[float]]
    answers_spent: AnswersSpentData | None


class AnsweredData(ResultData):
    """The result of one question, with its answer if it was answered."""

    answer: RunAnswer | None


class ComparisonData(Schema):
    """The means of two runs over the questions that both measured, and the test."""

    metric: str
    mean: float
    baseline_mean: float = attribute("baseline")
    difference: float
    interval: list[float]
    confidence: float
    p: float
    verdict: str
    doubt: str
    sentence: str


class QuestionDifferenceData(Schema):
    """One question in two runs."""

    id: str = attribute("question_id")
    question: str = attribute("text")
    before: float
    after: float
    difference: float


class RunComparisonData(ComparisonData):
    """A run against another one, with every question, largest difference first."""

    run: str
    baseline: str = attribute("other")
    changes: list[str]
    caveats: list[str]
    questions: list[QuestionDifferenceData] = attribute("rows")


class SweepData(Schema):
    """The best recipe of a sweep, and what it is worth on questions that did not choose it."""

    recipe: Recipe
    hash: str
    changes: dict[str, Any]
    tried: int
    questions: int
    comparison: ComparisonData
    leaders: tuple[LeaderData, ...]


class LastSweepData(Schema):
    """The last sweep of a question set."""

    result: SweepData | None


class MeasureRequest(RecipeRequest):
    """An evaluation to run: a recipe as in a search, on a question set."""

    set: str = Field(description="the id of a question set, or its name")


class EvaluateRequest(MeasureRequest):
    """A recipe to measure, and whether the answers too, which may cost money."""

    system: str | None = Field(
        None, max_length=40, description="a system to measure in the place of a recipe"
    )
    answers: bool = Field(False, description="also answer every question; needs the scope `ask`")
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
        """Queue the evaluation; return the job. Raises as the evaluations do."""
        if self.system is not None:
            if self.recipe is not None or self.fields or self.answers:
                raise InvalidInput("A system has neither a recipe nor answers.", "Send it alone.")
            return base.systems.start_evaluation(set_called(base, self.set).name, self.system)
        name, recipe = set_called(base, self.set).name, self.recipe_of(base)
        if not self.answers:
            return base.runs.start_evaluation(name, recipe)
        budget = Budget(self.most, self.most_tokens, self.most_money)
        return base.runs.start_answers(name, recipe, judge=self.judge, budget=budget)


class SweepRequest(MeasureRequest):
    """A grid of recipes to measure: values by field."""

    grid: dict[str, list[Any]]
    metric: str = "ndcg@10"


@runs.post("/knowledge-bases/{kb}/evaluations", **_QUEUED)
@dear
def start_evaluation(request: Request, base: Base, body: EvaluateRequest, queue: Queue) -> Response:
    """Queue an evaluation; ``run`` of the job is the id of the run that comes of it.

    With ``answers`` every question is answered and its answer measured too, by ``judge`` as well
    where one is named. A job that paused goes on with what it has when it is asked for again.
    """
    if body.answers:
        require(request, "ask")
    elif any(getattr(body, name) for name in _OF_ANSWERS):  # clients may send defaults
        raise InvalidInput("Only answers have a judge and a budget.", "Send answers: true.")

    return queue(body, lambda: body.start(base))


@runs.post("/knowledge-bases/{kb}/sweeps", **_QUEUED)
@dear
def start_sweep(base: Base, body: SweepRequest, queue: Queue) -> Response:
    """Queue the search for the best recipe of a grid, judged by cross-validation."""

    def start() -> int:
        name, recipe = set_called(base, body.set).name, body.recipe_of(base)
        return base.tuning.searches.start(name, body.grid, recipe, recipe, body.metric)

    return queue(body, start)


@runs.get("/knowledge-bases/{kb}/sweeps/{questions}", **needs("read", 404))
def get_sweep(base: Base, questions: SetName) -> LastSweepData:
    """Return the result of a question set's last sweep; ``result`` is null if there is none."""
    search_result = base.tuning.searches.result(set_called(base, questions).name)
    if search_result is None:
        return LastSweepData(result=None)
    chosen = search_result.selection
    on_tuning = chosen if isinstance(chosen, SplitSelection) else None
    result = SweepData(
        recipe=search_result.recipe,
        hash=search_result.recipe.hash,
        changes={
            name: after
            for name, (_, after) in search_result.baseline.differences(search_result.recipe).items()
        },
        tried=chosen.tried,
        questions=on_tuning.tuning_questions if on_tuning else len(chosen.comparison.differences),
        comparison=ComparisonData.of(chosen.comparison),
        leaders=search_result.leaders,
    )
    return LastSweepData(result=result)


@runs.get("/knowledge-bases/{kb}/runs", **needs("read", 404))
def list_runs(
    request: Request,
    base: Base,
    part: Part,
    set: Annotated[str | None, Query(description="only runs of this question set")] = None,
) -> Page[RunData]:
    """The runs of a knowledge base, newest first."""
    return part.of(request, base.runs.list_all(set), RunData.of)


@runs.get("/knowledge-bases/{kb}/runs/{run}", **needs("read", 404))
@dear
def get_run(base: Base, run: str) -> RunDetailData:
    """One run with its recipe, the 95% interval of every mean, and what its answers took."""
    stored = base.runs.get(run)
    answers = base.runs.answers(stored.id)
    return RunDetailData.of(
        stored,
        intervals=base.runs.intervals(run),
        answers_spent=answers_spent_data(answers.values()) if answers else None,
    )


@runs.get("/knowledge-bases/{kb}/runs/{run}/questions", **needs("read", 404))
@dear
def list_run_results(request: Request, base: Base, run: str, part: Part) -> Page[AnsweredData]:
    """Return the result of every question of a run, with its ``answer`` if it was answered."""
    answers = base.runs.answers(base.runs.get(run).id)

    def shown(result: QuestionResult) -> AnsweredData:
        return AnsweredData.of(result, answer=answers.get(result.question_id))

    return part.of(request, base.runs.results(run), shown)


@runs.get("/knowledge-bases/{kb}/runs/{run}/comparison", **needs("read", 404))
@dear
def compare_runs(
    base: Base,
    run: str,
    baseline: Annotated[str, Query(description="the run to compare with")],
    metric: Annotated[str, Query(description="the metric to compare by")] = "ndcg@10",
) -> RunComparisonData:
    """A run against another one: the test, and every question, largest difference first."""
    (comparison,) = base.runs.compare([run], baseline, metric)
    return RunComparisonData.of(
        comparison.figures,
        run=run,
        other=baseline,
        changes=comparison.chips,
        caveats=comparison.caveats,
        rows=comparison.rows,
    )


@runs.get("/knowledge-bases/{kb}/runs/{run}/parity", **needs("read", 400, 404))
@dear
def get_parity(
    base: Base,
    run: str,
    other: Annotated[str, Query(description="the run to compare with")],
    k: Annotated[int, Query(ge=1, le=1000, description="ranks to compare")] = 10,
) -> ParityData:
    """The agreement of two runs, without labels: means, and all questions, worst first."""
    return base.runs.parity(run, other, k)


@runs.get(
    "/knowledge-bases/{kb}/runs/{run}/report", **needs("read", 404), response_class=HTMLResponse
)
@dear
def get_report(base: Base, run: str, baseline: str | None = None) -> HTMLResponse:
    """A run as one HTML file that opens anywhere."""
    page = base.runs.report(run, baseline)
    name = {"Content-Disposition": f'attachment; filename="{base.runs.get(run).id}.html"'}
    return HTMLResponse(page.encode("utf-8", "replace"), headers=name)


@runs.delete("/knowledge-bases/{kb}/runs/{run}", **needs("write", 404, status_code=204))
def delete_run(base: Base, run: str) -> Response:
    """Delete a run."""
    base.runs.remove(run)
    return Response(status_code=204)


_DECISION = "/knowledge-bases/{kb}/runs/{run}/decision"

decisions = Resource("decisions")


class NewDecision(Body):
    """A decision to start, or to go on with."""

    against: str = Field(description="the other run")
    metric: str = Field("precision@10", description="precision@K or dcg@K")


class Judgement(Body):
    """The grade of a hit; a grade above 0 means relevant."""

    question: str
    passage: str
    grade: int = Field(ge=0, le=3)


class Judgements(NewDecision):
    """Grades of hits of a decision."""

    judgements: list[Judgement] = Field(max_length=1000)
    replace: bool = Field(True, description="also grade hits that somebody judged meanwhile")


@decisions.get("/knowledge-bases/{kb}/decisions", **needs("read", 404))
@dear
def list_decisions(request: Request, base: Base, part: Part) -> Page[DecisionEntryData]:
    """Open and finished decisions by the labels of today, newest first."""
    return part.of(request, base.runs.decisions(), decision_entry_data)


@decisions.post(_DECISION, **needs("label", 400, 404, 415))
@dear
def start_decision(base: Base, run: str, body: NewDecision) -> DecisionData:
    """Draw the hits to judge for two runs of a question set; go on with it if it was started."""
    base.runs.start_decision(run, body.against, body.metric)
    return _state(base, run, body)


@decisions.get(_DECISION, **needs("read", 400, 404))
@dear
def get_decision(
    base: Base,
    run: str,
    against: Annotated[str, Query(description="the other run")],
    metric: Annotated[str, Query(description="precision@K or dcg@K")] = "precision@10",
    margin: Annotated[
        float, Query(gt=0, lt=1, description="a smaller difference makes the runs equal")
    ] = EQUAL_MARGIN,
    limit: Annotated[int, Query(ge=0, le=200, description="hits to judge next")] = 10,
) -> DecisionData:
    """The verdict by the labels of today, and the hits to judge next."""
    return DecisionData.of(base.runs.decision(run, against, metric, margin, limit))


@decisions.post(f"{_DECISION}/judgements", **needs("label", 400, 404, 415))
@dear
def judge_decision(base: Base, run: str, body: Judgements) -> DecisionData:
    """Store grades of hits, all or none; return the state that they lead to."""
    grades = [(item.question, item.passage, item.grade) for item in body.judgements]
    judge = base.runs.judge_decision
    judge(run, body.against, body.metric, grades, replace_labels=body.replace)
    return _state(base, run, body)


def _state(base: KnowledgeBase, run: str, body: NewDecision) -> DecisionData:
    return DecisionData.of(base.runs.decision(run, body.against, body.metric))


diagnoses = Resource("diagnoses")


class DiagnoseRequest(MeasureRequest):
    """A recipe and the question set whose failures are to be explained."""

    rebuild: bool = Field(
        False, description="build and try the changes of the index that are proposed"
    )


class LastDiagnosisData(Schema):
    """The last diagnosis of a question set."""

    result: DiagnosisData | None


@diagnoses.post("/knowledge-bases/{kb}/diagnoses", **_QUEUED)
@dear
def start_diagnosis(base: Base, body: DiagnoseRequest, queue: Queue) -> Response:
    """Queue a diagnosis: the first cause of each failed question, and fixes that were tried."""

    def start() -> int:
        name, recipe = set_called(base, body.set).name, body.recipe_of(base)
        return base.tuning.diagnoses.start(name, recipe, rebuild=body.rebuild)

    return queue(body, start)


@diagnoses.get("/knowledge-bases/{kb}/diagnoses/{questions}", **needs("read", 404))
def get_diagnosis(base: Base, questions: SetName) -> LastDiagnosisData:
    """Return the last diagnosis of a question set; ``result`` is null if there is none."""
    diagnosis = base.tuning.diagnoses.result(set_called(base, questions).name)
    return LastDiagnosisData(result=None if diagnosis is None else diagnosis_data(diagnosis))
