"""Knowledge bases: list, create, rename, duplicate, delete."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import ConfigDict, Field

from rag import BaseInfo, Made, NotFound, Recipe
from rag.api.resource import (
    Base,
    Body,
    Maker,
    Part,
    Resource,
    Shared,
    base_called,
    moment,
    needs,
    where,
)
from rag.api.resources.documents import queued
from rag.api.resources.jobs import EXAMPLE as JOB

EXAMPLE = {
    "id": 1209381,
    "name": "sample",
    "documents": 30,
    "passages": 412,
    "created": "2026-01-02T03:04:05+00:00",
}
_LIST = {"items": [EXAMPLE], "total": 1, "next": None}

_QUEUED = needs("admin", 400, 404, 409, 415, 502, example=JOB, status_code=202)

bases = Resource("knowledge bases")


class NewBase(Body):
    """A knowledge base to make: with the recipe given, or that of another one, or the default."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "manuals", "like": "sample"}]}
    )

    name: str = Field(max_length=200)
    recipe: dict[str, Any] | None = Field(None, description="fields that differ from the default")
    like: str | None = Field(None, description="a knowledge base whose saved recipe is taken")


class Copy(Body):
    """The name of a copy."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "manuals to try with"}]})

    name: str = Field(max_length=200)


class Changes(Body):
    """Changes of a knowledge base's own fields."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "handbooks"}]})

    name: str = Field(max_length=200)


@bases.get("/knowledge-bases", **needs("read", example=_LIST))
def list_knowledge_bases(request: Request, workspace: Shared, part: Part) -> Any:
    """All knowledge bases by name."""
    return part.of(request, workspace.bases(), base_data)


@bases.post(
    "/knowledge-bases", **needs("write", 400, 409, 415, 502, example=EXAMPLE, status_code=201)
)
def create_knowledge_base(
    request: Request, workspace: Shared, body: NewBase, once: Maker
) -> Response:
    """Makes a knowledge base. Documents are added to it afterwards."""

    def make() -> Made:
        recipe = Recipe.parse(body.recipe) if body.recipe is not None else None
        if body.like is not None and recipe is None:
            recipe = base_called(workspace, body.like).recipe()
        made = workspace.create(body.name, recipe)
        return Made(201, _one(workspace, made.id), where(request, "knowledge-bases", made.id))

    return once(body.model_dump(), make)


@bases.get("/knowledge-bases/{kb}", **needs("read", 404, example=EXAMPLE))
def get_knowledge_base(workspace: Shared, base: Base) -> Any:
    """One knowledge base."""
    return _one(workspace, base.id)


@bases.patch("/knowledge-bases/{kb}", **needs("write", 400, 404, 409, 415, example=EXAMPLE))
def rename_knowledge_base(workspace: Shared, base: Base, body: Changes) -> Any:
    """Gives a knowledge base another name; its id stays."""
    workspace.rename(base.id, body.name)
    return _one(workspace, base.id)


@bases.post("/knowledge-bases/{kb}/duplicate", **_QUEUED)
def duplicate_knowledge_base(
    request: Request, workspace: Shared, base: Base, body: Copy, once: Maker
) -> Response:
    """Queues a copy with documents, recipes, prompts, question sets and labels, without runs,
    members or conversations. The copy is that of the job's `knowledge_base`."""

    def make() -> Made:
        return queued(request, workspace, workspace.duplicate(base.id, body.name)[1])

    return once(body.model_dump(), make)


@bases.delete("/knowledge-bases/{kb}", **needs("admin", 404, status_code=204))
def delete_knowledge_base(workspace: Shared, base: Base) -> Response:
    """Deletes a knowledge base with its documents, labels, runs and conversations."""
    workspace.delete(base.id)
    return Response(status_code=204)


def base_data(info: BaseInfo) -> dict[str, Any]:
    """A knowledge base as plain data."""
    return {
        "id": info.id,
        "name": info.name,
        "documents": info.documents,
        "passages": info.passages,
        "created": moment(info.created),
    }


def _one(workspace: Shared, base_id: int) -> dict[str, Any]:
    """A knowledge base by its id: its name may be another one at any moment. Raises NotFound."""
    for info in workspace.bases():
        if info.id == base_id:
            return base_data(info)
    raise NotFound("The knowledge base is gone.", "Someone deleted it; choose another.")
