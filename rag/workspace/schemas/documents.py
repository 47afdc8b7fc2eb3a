"""Documents, stores, question sets, examinations, exports, people and tokens as JSON."""

from __future__ import annotations

from typing import Literal

from rag.library.documents.library import Library
from rag.library.documents.stores import VectorCheckData
from rag.library.examination import Examination, FindingKind, FindingPlaceData
from rag.recipe import IndexRecipe
from rag.storage.builds import BuildRow
from rag.storage.quality.decisions import SettlementData
from rag.stores.existing import ExistingStore
from rag.stores.existing.rows import StoreFieldData, VectorFieldData
from rag.types.schema import Schema, Timestamp, attribute


class OmissionData(Schema):
    """Content of one kind that was not read; ``first`` is the place of the first one."""

    kind: str
    count: int
    first: str


class ReceiptData(Schema):
    """The account of the reading of a document."""

    read: dict[str, int | str]
    left_out: list[OmissionData]


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
        DocumentFindingData.of(finding, settlement=row) for finding, row in examination.settled
    ]
    opened = [DocumentFindingData.of(finding) for finding in examination.open]
    return ExaminationData(documents=examination.documents, findings=[*opened, *settled])


class VectorsData(Schema):
    """The search method of a build's vectors, and the reason for it."""

    asked: Literal["auto", "flat", "hnsw", "ivf"]
    kind: Literal["auto", "flat", "hnsw", "ivf"]
    vectors: int
    dimension: int
    limit: int | None
    why: str = attribute("details")


class BuildData(Schema):
    """A build of some documents; ``active`` is the one that answers."""

    hash: str
    active: bool
    cut: str = attribute("recipe", "cut")
    recipe: IndexRecipe
    documents: int
    missing: int
    passages: int
    vectors: VectorsData
    created: Timestamp


def build_data(documents: Library, build: BuildRow, active: str) -> BuildData:
    """Describe a build; ``active`` is the hash of the one that answers.

    Raises InvalidRecipe, ProviderError.
    """
    return BuildData.of(
        build,
        active=build.hash == active,
        missing=documents.missing(build.recipe),
        vectors=documents.vector_index(build.recipe),
    )


class StoreRowData(Schema):
    """A row as it becomes a document."""

    id: str
    title: str
    text: str
    metadata: dict[str, str]


class StorePreviewData(Schema):
    """A store before it is imported: its fields, some rows, and a check of its vectors."""

    store: ExistingStore
    rows: int = attribute("layout", "rows")
    fields: list[StoreFieldData] = attribute("layout", "fields")
    vectors: list[VectorFieldData] = attribute("layout", "vectors")
    sampled: int
    examples: list[StoreRowData] = attribute("rows")
    check: VectorCheckData | None
    notes: list[str]


class PersonData(Schema):
    """A person who signed in or was invited."""

    email: str
    name: str
    administrator: bool


class MemberData(Schema):
    """A member of a knowledge base."""

    email: str = attribute("person", "email")
    name: str = attribute("person", "name")
    role: str


class LinkData(Schema):
    """A link, without its secret.

    ``tour`` is the only tour that it shows, 0 once that is deleted, or None for all tours.
    """

    id: str
    name: str
    tour: int | None = attribute("tour_id")
    created: Timestamp
    expires: Timestamp
    revoked: Timestamp | None
    valid: bool


class NewLinkData(LinkData):
    """A link that was just made; ``path`` has its secret."""

    path: str
