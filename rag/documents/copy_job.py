"""The job that fills a new knowledge base with what another one holds."""

from __future__ import annotations

from rag.documents.job_vectors import refresh
from rag.jobs.reporter import Reporter
from rag.services import Services
from rag.storage.jobs import JobRow
from rag.storage.shared import copying

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
        reporter.report(copied, total, f"{copied:,} of {total:,} documents copied")
        group = ids[start : start + _GROUP]
        with services.database.write() as connection:
            copying.documents(connection, source, target, group)
        copied += len(group)
        reporter.result = copied
        reporter.give_way()
    with services.database.write() as connection:
        copying.all_else(connection, source, target)
    reporter.report(total, total, "bringing the index up to date")
    refresh(services, target)
    return f"{total:,} document{'s' * (total != 1)} copied"
