"""Long work that survives the process: one table of job kinds, and the runner that does them."""

from __future__ import annotations

from functools import partial

from rag.jobs.beir import import_beir
from rag.jobs.build import build, build_several
from rag.jobs.generate import generate
from rag.jobs.ingest import ingest
from rag.jobs.project import draw_map
from rag.jobs.runner import Handler, Jobs, Reporter
from rag.services import Services
from rag.storage.jobs import JobItem, JobRow

KINDS = {
    "ingest": ingest,
    "build": build,
    "build-several": build_several,
    "import-beir": import_beir,
    "generate": generate,
    "map": draw_map,
}


def handlers(services: Services) -> dict[str, Handler]:
    """The job kinds, bound to the parts that they work with."""
    return {name: partial(kind, services) for name, kind in KINDS.items()}


__all__ = ["Handler", "JobItem", "JobRow", "Jobs", "Reporter", "handlers"]
