"""Permission audits: results that come back to users who must not see them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response
from pydantic import ConfigDict, Field

from rag import AccessMatrix, PermissionReportData, Recipe, Schema
from rag.api.resource import Base, Body, Maker, Resource, Shared, needs
from rag.api.resources.documents import queued
from rag.api.resources.jobs import EXAMPLE as JOB
from rag.api.resources.jobs import JobData
from rag.api.resources.question_sets import set_called
from rag.api.threads import dear

_QUEUED = needs("write", 400, 404, 409, 415, response_model=JobData, example=JOB, status_code=202)
_MATRIX: dict[str, Any] = {
    "users": {"anna": {}, "ben": {}},
    "documents": {"handbook.md": "*", "*": ["anna"]},
}
_LAST: dict[str, Any] = {
    "result": {
        "source": "system production, version 1",
        "question_set": "policies",
        "outcome": "leaks",
        "headline": "1 leak: 1 of 2 users got passages that they must not see.",
        "questions": 45,
        "documents": 30,
        "restricted": 29,
        "reached": 27,
        "canaries": 0,
        "canaries_reached": 0,
        "results": 900,
        "unlocated": 0,
        "leaks": 1,
        "users": [
            {"user": "anna", "questions": 45, "results": 450, "leaks": 0, "errors": 0, "error": ""},
            {"user": "ben", "questions": 45, "results": 450, "leaks": 1, "errors": 0, "error": ""},
        ],
        "listed": [
            {
                "user": "ben",
                "question": "What does a manager earn?",
                "rank": 3,
                "kind": "document",
                "document": "payroll.pdf",
                "page": 2,
                "text": "Managers earn between …",
                "located": "exact",
            }
        ],
    }
}

permission_audits = Resource("permission audits")


class PermissionAuditRequest(Body):
    """An access matrix, and the recipe or system to audit."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"matrix": _MATRIX}]})

    matrix: dict[str, Any] | str = Field(
        description="an access matrix as an object, or its file (JSON or CSV) as text"
    )
    set: str | None = Field(None, description="a question set to ask, by id or name")
    system: str = Field("", max_length=40, description="a system in the place of a recipe")
    probes: int = Field(
        50, ge=0, le=1000, description="restricted documents whose own words are asked"
    )
    recipe: dict[str, Any] | None = Field(None, description="a whole recipe")
    fields: dict[str, Any] = Field({}, description="fields that differ, by dotted name")

    def parsed(self) -> AccessMatrix:
        """The matrix. Raises InvalidInput."""
        if isinstance(self.matrix, str):
            return AccessMatrix.read(self.matrix)
        return AccessMatrix.parse(self.matrix)


class LastPermissionAuditData(Schema):
    """The last finished audit of a source."""

    result: PermissionReportData | None


@permission_audits.post("/knowledge-bases/{kb}/permission-audits", **_QUEUED)
@dear
def start_permission_audit(
    request: Request, workspace: Shared, base: Base, body: PermissionAuditRequest, idempotent: Maker
) -> Response:
    """Queue an audit: questions are asked as each user, and compared with who may see what."""

    def make() -> Any:
        recipe = None
        if not body.system:
            start = base.recipe() if body.recipe is None else Recipe.parse(body.recipe)
            recipe = start.with_fields(body.fields)
        name = "" if body.set is None else set_called(base, body.set).name
        start_audit = base.permission_audits.start
        job = start_audit(body.parsed(), recipe, body.system, name, body.probes)
        return queued(request, workspace, job)

    return idempotent(body.model_dump(), make)


@permission_audits.get(
    "/knowledge-bases/{kb}/permission-audits", **needs("write", 404, example=_LAST)
)
def get_permission_audit(
    base: Base,
    system: Annotated[str, Query(max_length=40, description="a system; else recipes")] = "",
) -> LastPermissionAuditData:
    """Return the last finished audit of a system, else of a recipe; `result` may be null."""
    report = base.permission_audits.result(system)
    return LastPermissionAuditData(result=report and PermissionReportData.of(report))
