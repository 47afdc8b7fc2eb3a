"""The job that fills a new knowledge base with what another one holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate

from rag.library.documents.embedding_queue import refresh
from rag.services.jobs.reporter import Reporter
from rag.services.services import Services
from rag.storage import Database
from rag.storage.jobs import JobRow
from rag.storage.shared import copying
from rag.storage.shared.segments import Segments

KIND = "duplicate"

_GROUP, _PASSAGES = 32, 8192  # documents copied in one transaction, and passages of theirs


def duplicate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "duplicate"; what is copied already is left alone.

    Raises NotFound where the source was deleted; what was copied stays.
    """
    source, target = int(job.payload["source"]), job.base_id
    ids = services.database.fetch(copying.missing, source, target)
    copied = reporter.carried() or 0
    total = copied + len(ids)
    while ids:
        group = _group(services.database, source, ids)
        ids = ids[len(group) :]

        def on_stored(passages: int, copied: int = copied) -> None:
            words = f"{copied:,} of {total:,} documents copied"
            more = f", {passages:,} passages of a large one" * bool(passages)
            reporter.report(copied, total, words + more)

        on_stored(0)
        while not _copied(services.database, source, target, group, on_stored):
            pass  # a large one was changed meanwhile
        copied += len(group)
        reporter.result = copied
        reporter.give_way()
    services.database.execute(copying.all_else, source, target)
    refresh(services, target, partial(reporter.report, total, total))
    return f"{total:,} document{'s' * (total != 1)} copied"


def _group(database: Database, source: int, ids: Sequence[str]) -> Sequence[str]:
    """The next documents that are copied together."""
    counts = database.fetch(copying.passages_of, source, ids[:_GROUP])
    totals = accumulate(counts.get(document_id, 0) for document_id in ids[:_GROUP])
    return ids[: max(sum(total <= _PASSAGES for total in totals), 1)]


def _copied(
    database: Database,
    source: int,
    target: int,
    group: Sequence[str],
    on_stored: Callable[[int], None],
) -> bool:
    """Copy documents, or none of them where a large one was changed meanwhile: False."""
    segments = database.fetch(copying.segments, source, group)
    with Segments(database, target) as arriving:
        for segment in segments:
            copying.copy_segment(arriving, target, segment, on_stored)
        return database.execute(copying.documents, source, target, group, arriving, segments)
