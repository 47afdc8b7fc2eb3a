"""The job that draws the map of a build from the stored vectors."""

from __future__ import annotations

from rag.jobs.reporter import Reporter
from rag.maps.maps import MapFiles
from rag.maps.projections import project
from rag.recipe import IndexRecipe
from rag.services import Services
from rag.storage.jobs import JobRow


def draw_map(services: Services, files: MapFiles, job: JobRow, reporter: Reporter) -> str:
    """Does a job of kind "map"; taken up again, it starts over, and the former map stays."""
    recipe = IndexRecipe.model_validate(job.payload["recipe"])
    reporter.report(0, 0, "reading vectors")
    index = services.indexes.current(job.base_id, recipe).embedded
    keys = index.passages
    drawn = project(job.payload["method"], keys, index.dense.vectors, reporter.report)
    files.save(job.base_id, recipe.hash, drawn)
    return f"{len(keys):,} passages drawn"
