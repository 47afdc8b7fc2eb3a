"""Size of a job: the amount to read, chunk and embed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rag import readers
from rag.services.services import Services
from rag.storage import builds, documents, files
from rag.storage import jobs as rows
from rag.storage.jobs import JobItem, JobRow

LARGE = 1_000_000
"""Bytes; less is done before a process of its own would have started."""
_WORTH_SHARING = 100_000  # characters; a worker starts while as many are embedded


def is_large(services: Services, job: JobRow) -> bool:
    """Whether a job would make those wait who share its process."""
    match job.kind:
        case "ingest":
            return _waiting_bytes(services, job) > LARGE
        case "build" | "build-several" | "build-table":
            return _characters(services, job.base_id) > LARGE
        case "diagnose":
            rebuilds = bool(job.payload.get("rebuild"))
            return rebuilds and _characters(services, job.base_id) > LARGE
        case "import-beir":
            corpus = Path(job.payload["folder"]) / "corpus.jsonl"
            return corpus.is_file() and corpus.stat().st_size > LARGE
    return False


def can_be_shared(services: Services, job: JobRow) -> bool:
    """Whether workers can share a job, and so much is left that another one is worth its start."""
    if job.kind != "ingest" or services.database.dialect != "postgresql":
        return False
    with services.database.read() as connection:
        waiting = {item.id: item.characters for item in builds.waiting(connection, job.base_id)}
    return sum(waiting.values()) > _WORTH_SHARING or is_large(services, job)


@dataclass(frozen=True, slots=True)
class WaitingItem:
    """An item that waits, and what is to be read: pages of a PDF, else bytes of a file.

    The kind "address" has no size yet.
    """

    item: JobItem
    kind: str
    size: float


def waiting_items(services: Services, items: Sequence[JobItem]) -> list[WaitingItem]:
    """Return those of a job's items that wait."""
    waiting = list[WaitingItem]()
    for item in items:
        if item.status != "waiting":
            continue
        if "url" in item.payload:
            waiting.append(WaitingItem(item, "address", 0.0))
        else:
            path = services.files.path(item.payload["file"]) if "file" in item.payload else None
            waiting.append(WaitingItem(item, *readers.size_of(path, item.name)))
    return waiting


def _waiting_bytes(services: Services, job: JobRow) -> int:
    with services.database.read() as connection:
        items = rows.items(connection, job.id)
    waiting = [item.payload for item in items if item.status == "waiting"]
    names = {item["file"] for item in waiting if "file" in item}
    here = [place for place in map(services.files.place, names) if place.exists()]
    size = sum(place.stat().st_size for place in here)
    if services.files.in_database:
        with services.database.read() as connection:
            size += files.size_of_parts(connection, sorted(names - {place.name for place in here}))
    return size


def _characters(services: Services, base_id: int) -> int:
    with services.database.read() as connection:
        return sum(row.characters for row in documents.list_documents(connection, base_id))
