"""Size of a job: the amount to read, chunk and embed."""

from __future__ import annotations

from pathlib import Path

from rag import readers
from rag.errors import TouchstoneError
from rag.readers.formats import extension_of
from rag.services import Services
from rag.storage import builds, documents
from rag.storage import jobs as rows
from rag.storage.jobs import JobItem, JobRow
from rag.storage.shared import file_parts

LARGE = 1_000_000
"""Bytes; less is done before a process of its own would have started."""
_WORTH_SHARING = 100_000  # characters; a worker starts while as many are embedded


_BYTES_PER_PAGE = 100_000


def is_large(services: Services, job: JobRow) -> bool:
    """Whether a job would make those wait who share its process."""
    match job.kind:
        case "ingest":
            return _waiting_bytes(services, job) > LARGE
        case "build" | "build-several" | "build-table":
            return _characters(services, job.base_id) > LARGE
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


def size_of(services: Services, item: JobItem) -> tuple[str, float]:
    """The kind of an item and its size: pages of a PDF, else bytes; "address" has no size yet."""
    if "url" in item.payload:
        return "address", 0.0
    kind = extension_of(item.name)
    path = services.files.path(item.payload["file"]) if "file" in item.payload else None
    if path is None or not path.exists():
        return kind, 0.0
    return kind, file_size(path, kind)


def file_size(path: Path, kind: str) -> float:
    """Pages of a PDF, as far as they can be counted, else bytes."""
    size = path.stat().st_size
    if kind != "pdf":
        return float(size)
    try:
        return float(readers.count_pages(path))
    except TouchstoneError:
        return size / _BYTES_PER_PAGE


def _waiting_bytes(services: Services, job: JobRow) -> int:
    with services.database.read() as connection:
        items = rows.items(connection, job.id)
    waiting = [item.payload for item in items if item.status == "waiting"]
    names = {item["file"] for item in waiting if "file" in item}
    here = [place for place in map(services.files.place, names) if place.exists()]
    size = sum(place.stat().st_size for place in here)
    if services.files.in_database:
        with services.database.read() as connection:
            size += file_parts.size(connection, sorted(names - {place.name for place in here}))
    return size


def _characters(services: Services, base_id: int) -> int:
    with services.database.read() as connection:
        return sum(row.characters for row in documents.list_documents(connection, base_id))
