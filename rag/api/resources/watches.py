"""The drift watch: take a look as a job, and list looks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Request, Response
from pydantic import ConfigDict, Field

from rag import WatchLookData
from rag.api.resource import Base, Maker, Page, Part, Resource, Shared, needs
from rag.api.resources.documents import queued
from rag.api.resources.jobs import EXAMPLE as JOB
from rag.api.resources.jobs import JobData
from rag.api.resources.question_sets import set_called
from rag.api.resources.runs import MeasureRequest
from rag.api.threads import dear

_QUEUED = needs("write", 400, 404, 409, 415, response_model=JobData, example=JOB, status_code=202)
_PATH = "/knowledge-bases/{kb}/watches"

watches = Resource("watches")


class WatchRequest(MeasureRequest):
    """A recipe and the question set to look at."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"set": "policies"}]})

    reset: bool = Field(False, description="make this look the reference of the next ones")


@watches.post(_PATH, **_QUEUED)
@dear
def start_watch(
    request: Request, workspace: Shared, base: Base, body: WatchRequest, once: Maker
) -> Response:
    """Queue a look for drift; the first one at a set is the reference."""

    def make() -> Any:
        name, recipe = set_called(base, body.set).name, body.recipe_of(base)
        job = base.watches.start(name, recipe, reset=body.reset)
        return queued(request, workspace, job)

    return once(body.model_dump(), make)


@watches.get(_PATH + "/{questions}", **needs("read", 404))
def list_looks(
    request: Request,
    base: Base,
    questions: Annotated[str, Path(description="the name of a question set")],
    part: Part,
) -> Page[WatchLookData]:
    """List the looks at a question set, newest first."""
    name = set_called(base, questions).name
    return part.of(request, base.watches.looks(name), WatchLookData.of)
