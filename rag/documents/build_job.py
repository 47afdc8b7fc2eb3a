"""The jobs that build a knowledge base for one more index recipe, or for all of a grid."""

from __future__ import annotations

from collections.abc import Callable

from rag.documents.ingestion import Ingestion
from rag.jobs.runner import Reporter
from rag.recipe import IndexRecipe
from rag.services import Services
from rag.storage import builds
from rag.storage import jobs as rows
from rag.storage.jobs import JobRow

_GROUP = 32  # documents stored in one transaction
_SHARE = 1000  # progress units of one build of several

Tell = Callable[[int, int, str], None]


def build(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Does a job of kind "build"; documents that are built already are left alone."""
    recipe = IndexRecipe.model_validate(job.payload["recipe"])
    return f"{_complete(services, job.base_id, recipe, reporter.tell):,} documents built"


def build_several(services: Services, job: JobRow, reporter: Reporter) -> str:
    """Does a job of kind "build-several", an index recipe an item; what is built stays built."""
    with services.database.read() as connection:
        items = rows.items(connection, job.id)
    for place, item in enumerate(items):
        recipe = IndexRecipe.model_validate(item.payload["recipe"])

        def tell(
            done: int, total: int, text: str, place: int = place, name: str = item.name
        ) -> None:
            share = int(_SHARE * done / total) if total else 0
            whole = len(items) * _SHARE
            message = f"index {place + 1:,} of {len(items):,}, {name}: {text}"
            reporter.tell(place * _SHARE + share, whole, message)

        tell(0, 0, "starting")
        if item.status == "waiting":
            _complete(services, job.base_id, recipe, tell)
            with services.database.write() as connection:
                passages = builds.passages_of(connection, job.base_id, recipe.cut)
                rows.set_item(connection, job.id, item.position, "added", chunks=passages)
    return f"{len(items):,} indexes built"


def _complete(services: Services, base_id: int, recipe: IndexRecipe, report: Tell) -> int:
    """Adds the documents that a build lacks; returns how many.

    Raises InvalidRecipe or ProviderError before there is a build that could never be completed.
    """
    services.models.require(recipe)
    services.models.embedder(recipe.embedder).embed(["hello"], "query")  # a server may be away
    with services.database.write() as connection:
        builds.ensure(connection, base_id, recipe)
        missing = builds.missing(connection, base_id, recipe.hash)
    ingestion = Ingestion(services.database, base_id, services.models.embedder)
    for start in range(0, len(missing), _GROUP):

        def tell(step: str, done: int, total: int, start: int = start) -> None:
            share = _GROUP * (done / total if total else 0)
            count = f" {done:,} of {total:,} passages" if total else ""
            message = f"{start:,} of {len(missing):,} documents built, {step}{count}"
            report(min(int(start + share), len(missing)), len(missing), message)

        ingestion.complete(recipe, missing[start : start + _GROUP], tell)
    services.indexes.save(base_id, recipe)
    return len(missing)
