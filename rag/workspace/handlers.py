"""The functions that do jobs, by kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rag.experiments.runs.evaluate_job import evaluate
from rag.experiments.runs.quality.answer_job import evaluate_answers
from rag.experiments.runs.quality.judge_job import judge_hits
from rag.experiments.runs.quality.preference_job import judge_answers
from rag.experiments.systems.evaluate_job import evaluate_system
from rag.experiments.tuning.diagnosis.job import diagnose
from rag.experiments.tuning.fit_job import calibrate
from rag.experiments.tuning.search_job import search_all
from rag.experiments.tuning.table_job import build_table
from rag.library.documents import copy_job
from rag.library.documents.build_job import build, build_several
from rag.library.documents.import_job import import_beir
from rag.library.documents.ingest_job import ingest
from rag.library.documents.stores import imports as store_imports
from rag.library.documents.stores.import_job import import_store
from rag.library.maps.maps import MapFiles, draw_map
from rag.library.questions.generate_job import generate
from rag.services.jobs import Handler
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
        copy_job.KIND: partial(copy_job.duplicate, services),
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
