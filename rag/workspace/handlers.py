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
from rag.experiments.tuning.diagnosis.job import diagnose
from rag.experiments.tuning.tuning_jobs import build_table, calibrate, search_all
from rag.library.documents import bulk_jobs
from rag.library.documents import stores as store_imports
from rag.library.documents.bulk_jobs import build, build_several, import_beir
from rag.library.documents.ingest_job import help_ingest, ingest
from rag.library.documents.remaining_time import can_be_shared, is_large
from rag.library.documents.stores import import_store
from rag.library.maps import MapFiles, draw_map
from rag.library.questions.generate_job import generate
from rag.services.jobs import Handler, JobRow, reporter, runner
from rag.services.services import Services
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
        store_imports.KIND: partial(import_store, services),
        bulk_jobs.DUPLICATE: partial(bulk_jobs.duplicate, services),
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
