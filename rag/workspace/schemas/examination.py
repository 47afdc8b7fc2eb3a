"""Examinations of documents as JSON."""

from __future__ import annotations

from rag.library.examination.examinations import Examination, SettlementDecision
from rag.library.examination.findings import FindingKind
from rag.workspace.schemas.schema import Schema, Timestamp


class FindingPlaceData(Schema):
    """A place in a document, with its words."""

    document_id: str
    document: str
    start: int
    end: int
    page: int | None
    text: str


class SettlementData(Schema):
    """A decision about a finding; ``document`` is the name of the one that is kept."""

    decision: SettlementDecision
    document: str
    reason: str
    settled: Timestamp


class DocumentFindingData(Schema):
    """A finding; ``settlement`` is null while it is open."""

    id: str
    kind: FindingKind
    summary: str
    confidence: float
    places: list[FindingPlaceData]
    in_force: str
    question: str
    settlement: SettlementData | None = None


class ExaminationData(Schema):
    """The findings of an examination, open ones first."""

    documents: int
    findings: list[DocumentFindingData]


def examination_data(examination: Examination) -> ExaminationData:
    """Return an examination as typed JSON."""
    settled = [
        DocumentFindingData.of(finding).model_copy(update={"settlement": SettlementData.of(row)})
        for finding, row in examination.settled
    ]
    opened = [DocumentFindingData.of(finding) for finding in examination.open]
    return ExaminationData(documents=examination.documents, findings=[*opened, *settled])
