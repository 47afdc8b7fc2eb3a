"""Jobs that diagnose failed questions of a question set."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from rag import DiagnosisData, Schema, diagnosis_data
from rag.api.resource import Base, Maker, Resource, Shared, needs
from rag.api.resources.documents import queued
from rag.api.resources.jobs import JobData
from rag.api.resources.question_sets import SetName, set_called
from rag.api.resources.runs import MeasureRequest
from rag.api.threads import dear

_QUEUED = needs("write", 400, 404, 409, 415, response_model=JobData, status_code=202)

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
def start_diagnosis(
    request: Request, workspace: Shared, base: Base, body: DiagnoseRequest, idempotent: Maker
) -> Response:
    """Queue a diagnosis: the first cause of each failed question, and fixes that were tried."""

    def make() -> Any:
        name, recipe = set_called(base, body.set).name, body.recipe_of(base)
        job = base.diagnoses.start(name, recipe, rebuild=body.rebuild)
        return queued(request, workspace, job)

    return idempotent(body.model_dump(), make)


@diagnoses.get("/knowledge-bases/{kb}/diagnoses/{questions}", **needs("read", 404))
def get_diagnosis(base: Base, questions: SetName) -> LastDiagnosisData:
    """Return the last diagnosis of a question set; ``result`` is null if there is none."""
    diagnosis = base.diagnoses.result(set_called(base, questions).name)
    return LastDiagnosisData(result=None if diagnosis is None else diagnosis_data(diagnosis))
