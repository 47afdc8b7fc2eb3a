"""The job that fills a new knowledge base with what another one holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from rag.documents.job_vectors import refresh
from rag.jobs.reporter import Reporter
from rag.services import Services
from rag.storage import Database
from rag.storage.jobs import JobRow
from rag.storage.shared import copying
from rag.storage.shared.segments import Segments

KIND = "duplicate"

_GROUP = 32  # documents copied in one transaction


def duplicate(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Do a job of kind "duplicate"; what is copied already is left alone.

    Raises NotFound where the source was deleted; what was copied stays.
    """
    source, target = int(job.payload["source"]), job.base_id
    with services.database.read() as connection:
        ids = copying.missing(connection, source, target)
    copied = reporter.carried() or 0
    total = copied + len(ids)
    for start in range(0, len(ids), _GROUP):
        group = ids[start : start + _GROUP]

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
    with services.database.write() as connection:
        copying.all_else(connection, source, target)
    refresh(services, target, partial(reporter.report, total, total))
    return f"{total:,} document{'s' * (total != 1)} copied"


def _copied(
    database: Database,
    source: int,
    target: int,
    group: Sequence[str],
    on_stored: Callable[[int], None],
) -> bool:
    """Copy documents, or none of them where a large one was changed meanwhile: False."""
    with database.read() as connection:
        segments = copying.segments(connection, source, group)
    with Segments(database, target) as arriving:
        for segment in segments:
            copying.copy_segment(arriving, target, segment, on_stored)
        with database.write() as connection:
            return copying.documents(connection, source, target, group, arriving, segments)
