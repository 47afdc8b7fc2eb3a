"""Builds: the indexes that a knowledge base has, and deleting those that nobody needs."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response
from pydantic import ConfigDict, Field

from rag import (
    BuildData,
    KnowledgeBase,
    MeasuredMigrationData,
    Migration,
    MigrationData,
    MigrationEffectData,
    NotFound,
    Recipe,
    Schema,
    SwitchParityData,
    build_data,
)
from rag.api.resource import Base, Body, Maker, Page, Part, Resource, Shared, needs
from rag.api.resources.documents import queued
from rag.api.resources.jobs import EXAMPLE as JOB
from rag.api.resources.jobs import JobData
from rag.api.resources.question_sets import set_called
from rag.api.threads import dear

_RECIPE = Recipe().index
_LIST = {
    "items": [
        {
            "hash": _RECIPE.hash,
            "active": True,
            "cut": _RECIPE.cut,
            "recipe": _RECIPE.model_dump(mode="json"),
            "documents": 30,
            "missing": 0,
            "passages": 412,
            "vectors": {
                "asked": "auto",
                "kind": "flat",
                "vectors": 412,
                "dimension": 384,
                "limit": 260416,
                "why": "exact search is quick enough",
            },
            "created": "2026-01-02T03:04:05+00:00",
        }
    ],
    "total": 1,
    "next": None,
}

_QUEUED = needs(
    "write", 400, 404, 409, 415, 502, response_model=JobData, example=JOB, status_code=202
)
_MIGRATION = "/knowledge-bases/{kb}/embedder-migration"

builds = Resource("builds")


@builds.get("/knowledge-bases/{kb}/builds", **needs("read", 404, 502, example=_LIST))
def list_builds(request: Request, base: Base, part: Part) -> Page[BuildData]:
    """The indexes that documents are built for, oldest first; `active` answers the questions."""
    active = base.recipe().index.hash
    builds = base.documents.builds()
    return part.of(request, builds, lambda row: build_data(base.documents, row, active))


@builds.delete("/knowledge-bases/{kb}/builds/{build}", **needs("write", 404, status_code=204))
def delete_build(
    base: Base, build: Annotated[str, Path(description="the hash of a build")]
) -> Response:
    """Delete a build, with passages and vectors that no other one has. The one that answers the
    questions is refused."""
    if build not in {row.hash for row in base.documents.builds()}:
        raise NotFound(f"There is no build with the hash {build!r}.")
    base.documents.delete_build(build)
    return Response(status_code=204)


@builds.get(_MIGRATION, **needs("write", 400, 404, 502))
@dear
def plan_migration(
    base: Base,
    embedder: Annotated[str, Query(description="the embedder to move to")],
    sample: Annotated[int, Query(ge=1, le=1000, description="vectors to check")] = 100,
) -> MigrationData:
    """Return the costs and steps of a move to another embedder, and a check of the vectors."""
    migration = base.tuning.migration
    return MigrationData.of(migration.plan(migration.target(embedder), sample))


class MigrationRequest(Body):
    """The embedder to move to, and the question set to measure on."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"embedder": "wordllama", "set": "policies"}]}
    )

    embedder: str
    set: str = Field(description="the name or id of a question set")
    sample: int = Field(100, ge=1, le=1000, description="vectors to check")


class LastMigrationData(Schema):
    """The last measured move to another embedder."""

    result: MeasuredMigrationData | None


@builds.post(_MIGRATION, **_QUEUED)
@dear
def measure_migration(
    request: Request, workspace: Shared, base: Base, body: MigrationRequest, idempotent: Maker
) -> Response:
    """Queue the measurement of a move: checks the stored vectors, builds the index of the other
    embedder beside the present one, and evaluates both. Answers do not change."""

    def make() -> Any:
        name, tuning = set_called(base, body.set).name, base.tuning
        recipe = tuning.migration.target(body.embedder)
        return queued(request, workspace, tuning.migrations.start(name, recipe, body.sample))

    return idempotent(body.model_dump(), make)


@builds.get(_MIGRATION + "/result", **needs("read", 404))
def get_migration(base: Base) -> LastMigrationData:
    """Return the last measured move; ``result`` is null if there is none."""
    migration = base.tuning.migrations.result()
    return LastMigrationData(result=None if migration is None else _measured(base, migration))


@builds.post(_MIGRATION + "/switch", **_QUEUED)
@dear
def switch_embedder(request: Request, workspace: Shared, base: Base, idempotent: Maker) -> Response:
    """Save the recipe of the last measured move, and queue the comparison of its rankings with the
    measured ones. A move that makes results worse is refused."""
    return idempotent({}, lambda: queued(request, workspace, base.tuning.migrations.switch()))


def _measured(base: KnowledgeBase, migration: Migration) -> MeasuredMigrationData:
    migrations, plan, effect = base.tuning.migrations, migration.plan, None
    with suppress(NotFound):  # a run was deleted
        compared = migrations.effect(migration)
        plan, effect = plan.advised(compared.figures.verdict), MigrationEffectData.of(compared)
    parity = migrations.parity(migration)
    return MeasuredMigrationData(
        **dict(MigrationData.of(plan)),
        set=migration.question_set,
        current=migrations.is_current(migration),
        seconds_measured=migration.seconds,
        effect=effect,
        parity=None if parity is None else SwitchParityData.of(parity),
    )
