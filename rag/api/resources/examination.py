"""The examination of documents: read the findings, settle them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Response
from pydantic import ConfigDict, Field

from rag import ExaminationData, SettlementDecision, examination_data
from rag.api.resource import Base, Body, Resource, needs
from rag.api.threads import dear

_EXAMINATION = "/knowledge-bases/{kb}/examination"
Finding = Annotated[str, Path(description="the id of a finding", max_length=40)]

examination = Resource("examination")


class SettleRequest(Body):
    """A decision about a finding."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"decision": "ignore"}]})

    decision: SettlementDecision
    document: str = Field("", description="name or id of the document to keep, with `keep`")
    reason: str = Field("", description="why both are right, with `both`")


@examination.get(_EXAMINATION, **needs("read", 404))
@dear
def get_examination(base: Base) -> ExaminationData:
    """Examine all documents, and what questions reach; return open findings first, then settled."""
    return examination_data(base.examinations.examine())


@examination.put(f"{_EXAMINATION}/{{finding}}", **needs("write", 400, 404, 415, status_code=204))
@dear
def settle_finding(base: Base, finding: Finding, body: SettleRequest) -> Response:
    """Settle a finding: keep one document, both are right, or ignore."""
    base.examinations.settle(finding, body.decision, body.document, body.reason)
    return Response(status_code=204)


@examination.delete(f"{_EXAMINATION}/{{finding}}", **needs("write", 404, status_code=204))
@dear
def reopen_finding(base: Base, finding: Finding) -> Response:
    """Undo a decision about a finding, with the exclusions that came with it."""
    base.examinations.reopen(finding)
    return Response(status_code=204)
