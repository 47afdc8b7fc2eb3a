"""The functions that do jobs, by kind, and processes for the jobs that would be in the way.

Such a process has a workspace of its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from rag.experiments.runs.evaluate_job import evaluate
from rag.experiments.runs.quality.answer_job import evaluate_answers
from rag.experiments.runs.quality.judge_job import judge_hits
from rag.experiments.runs.quality.preference_job import judge_answers
from rag.experiments.systems.evaluate_job import evaluate_system
from rag.experiments.tuning.diagnosis.job import Diagnose, diagnose
from rag.experiments.tuning.tuning_jobs import build_table, calibrate, search_all
from rag.library.documents import bulk_jobs
from rag.library.documents.bulk_jobs import build, build_several, import_beir
from rag.library.documents.ingest_job import help_ingest, ingest
from rag.library.documents.stores import import_store
from rag.library.maps import MapFiles, draw_map
from rag.library.questions.generate_job import generate
from rag.services.jobs import Handler, JobRow, reporter, runner
from rag.services.services import Services
from rag.storage import builds, documents, files
from rag.storage import jobs as rows
from rag.storage.conversations import SessionOwner
from rag.workspace.knowledge_base import KnowledgeBase


def handlers(
    services: Services,
    base_with_id: Callable[[int, SessionOwner], KnowledgeBase],
    map_files: MapFiles,
) -> dict[str, Handler]:
    """Return the handler of each kind of jobs."""
    return {
        "ingest": partial(ingest, services),
        "build": partial(build, services),
        "build-several": partial(build_several, services),
        "import-beir": partial(import_beir, services),
        "import-store": partial(import_store, services),
        "duplicate": partial(bulk_jobs.duplicate, services),
        "generate": partial(generate, services),
        "evaluate": partial(evaluate, services),
        "evaluate-answers": partial(evaluate_answers, services, base_with_id),
        "judge": partial(judge_hits, services),
        "prefer": partial(judge_answers, services),
        "evaluate-system": partial(evaluate_system, services),
        "search-all": partial(search_all, services),
        "build-table": partial(build_table, services),
        "calibrate": partial(calibrate, services),
        "diagnose": partial(diagnose, services),
        "map": partial(draw_map, services, map_files),
    }


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
            return Diagnose.of(job).rebuild and _characters(services, job.base_id) > LARGE
        case "import-beir":
            corpus = bulk_jobs.ImportBeir.of(job).folder / "corpus.jsonl"
            return corpus.is_file() and corpus.stat().st_size > LARGE
    return False


def can_be_shared(services: Services, job: JobRow) -> bool:
    """Whether workers can share a job, and so much is left that another one is worth its start."""
    if job.kind != "ingest" or services.database.dialect != "postgresql":
        return False
    waiting = {
        item.id: item.characters for item in services.database.fetch(builds.waiting, job.base_id)
    }
    return sum(waiting.values()) > _WORTH_SHARING or is_large(services, job)


def _waiting_bytes(services: Services, job: JobRow) -> int:
    items = services.database.fetch(rows.items, job.id)
    waiting = [item.payload for item in items if item.status == "waiting"]
    names = {item["file"] for item in waiting if "file" in item}
    here = [place for place in map(services.files.place, names) if place.exists()]
    size = sum(place.stat().st_size for place in here)
    if services.files.in_database:
        size += services.database.fetch(
            files.size_of_parts, sorted(names - {place.name for place in here})
        )
    return size


def _characters(services: Services, base_id: int) -> int:
    return sum(row.characters for row in services.database.fetch(documents.list_documents, base_id))


_POOL = 2
"""Connections that the process of a job keeps: one thread does most of its work."""


@dataclass(frozen=True, slots=True)
class SubprocessLauncher:
    """A launcher of subprocesses for the worker of ``services``, if they are worth it. Their end:
    ``do_job``.
    """

    services: Services

    def large(self, job: JobRow, owner: str) -> subprocess.Popen[bytes] | None:
        """Do a job that its owner has claimed."""
        return self._started(job, owner, "do") if is_large(self.services, job) else None

    def shared(self, job: JobRow, owner: str) -> subprocess.Popen[bytes] | None:
        """Share a job with the worker of another process or machine."""
        return self._started(job, owner, "share") if can_be_shared(self.services, job) else None

    def _started(self, job: JobRow, owner: str, what: str) -> subprocess.Popen[bytes]:
        settings = self.services.settings
        settings = replace(settings, database_pool=min(settings.database_pool, _POOL))
        return runner.start({what: job.id, "owner": owner, "settings": settings.as_json()})


def share(services: Services, job_id: int, owner: str) -> None:
    """Read and embed for a job of another worker, as long as there is something to claim."""
    reporter.share(services.database, owner, job_id, partial(help_ingest, services))
