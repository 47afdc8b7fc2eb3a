"""Learned fusions: learn one as a job, list, read and delete them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Request, Response
from pydantic import ConfigDict, Field

from rag import LearnedFusionData, LearnedOutcomeData, Schema
from rag.api.resource import Base, Maker, Page, Part, Resource, Shared, needs
from rag.api.resources.documents import queued
from rag.api.resources.jobs import EXAMPLE as JOB
from rag.api.resources.jobs import JobData
from rag.api.resources.question_sets import set_called
from rag.api.resources.runs import MeasureRequest
from rag.api.threads import dear

_QUEUED = needs("write", 400, 404, 409, 415, response_model=JobData, example=JOB, status_code=202)
_PATH = "/knowledge-bases/{kb}/learned-fusions"

learned_fusions = Resource("learned-fusions")

Hash = Annotated[str, Path(description="the hash of a learned fusion", max_length=12)]


class LearnRequest(MeasureRequest):
    """A recipe, the question set to learn from, and the kind of model."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"set": "policies", "kind": "linear"}]}
    )

    kind: Literal["linear", "trees"] = Field("linear", description="trees need XGBoost")


class LastLearnedData(Schema):
    """The outcome of the last job with the saved recipe and the documents and labels of now."""

    result: LearnedOutcomeData | None


@learned_fusions.post(_PATH, **_QUEUED)
@dear
def learn_fusion(
    request: Request, workspace: Shared, base: Base, body: LearnRequest, idempotent: Maker
) -> Response:
    """Queue learning a fusion; it is stored if it gains on unseen questions or documents."""

    def make() -> Any:
        name, recipe = set_called(base, body.set).name, body.recipe_of(base)
        job = base.tuning.learned_fusions.start(name, recipe, body.kind)
        return queued(request, workspace, job)

    return idempotent(body.model_dump(), make)


@learned_fusions.get(_PATH, **needs("read", 404))
def list_learned_fusions(request: Request, base: Base, part: Part) -> Page[LearnedFusionData]:
    """List the learned fusions, newest first."""
    return part.of(request, base.tuning.learned_fusions.list_all(), LearnedFusionData.of)


@learned_fusions.get(_PATH + "/outcomes/{questions}/{kind}", **needs("read", 404))
def get_learned_outcome(
    base: Base,
    questions: Annotated[str, Path(description="the name of a question set")],
    kind: Literal["linear", "trees"],
) -> LastLearnedData:
    """Return the last outcome for a question set; ``result`` is null if there is none."""
    name = set_called(base, questions).name
    outcome = base.tuning.learned_fusions.result(name, base.recipe(), kind)
    return LastLearnedData(result=None if outcome is None else LearnedOutcomeData.of(outcome))


@learned_fusions.get(_PATH + "/{fusion}", **needs("read", 404))
def get_learned_fusion(base: Base, fusion: Hash) -> LearnedFusionData:
    """Return a learned fusion with its model."""
    return LearnedFusionData.of(base.tuning.learned_fusions.find(fusion))


@learned_fusions.delete(_PATH + "/{fusion}", **needs("write", 404, status_code=204))
def delete_learned_fusion(base: Base, fusion: Hash) -> None:
    """Delete a learned fusion; searches whose recipe names it are refused from then on."""
    base.tuning.learned_fusions.remove(fusion)
