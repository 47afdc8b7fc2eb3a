"""Knowledge bases: list, create, rename, duplicate, delete."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from pydantic import Field

from rag import Made, NotFound, Recipe, Schema, Timestamp
from rag.api.resource import (
    Base,
    Body,
    Maker,
    Page,
    Part,
    Resource,
    Shared,
    base_called,
    needs,
    where,
)
from rag.api.resources.documents import queued
from rag.api.resources.jobs import JobData

bases = Resource("knowledge bases")


class KnowledgeBaseData(Schema):
    """A knowledge base, with the numbers of its documents and passages."""

    id: int
    name: str
    documents: int
    passages: int
    created: Timestamp


_MADE = needs(
    "write", *(400, 404, 409, 415, 502), response_model=KnowledgeBaseData, status_code=201
)
_QUEUED = needs("admin", *(400, 404, 409, 415, 502), response_model=JobData, status_code=202)


class NewBase(Body):
    """A knowledge base to make, with a new recipe or that of another one, and changes of it."""

    name: str = Field(max_length=200)
    recipe: dict[str, Any] | None = Field(None, description="fields that differ, by part")
    like: str | None = Field(None, description="a knowledge base whose saved recipe is taken")


class DuplicateRequest(Body):
    """The name of a copy."""

    name: str = Field(max_length=200)


class KnowledgeBaseChanges(Body):
    """Changes of a knowledge base's own fields."""

    name: str = Field(max_length=200)


@bases.get("/knowledge-bases", **needs("read"))
def list_knowledge_bases(
    request: Request, workspace: Shared, part: Part
) -> Page[KnowledgeBaseData]:
    """All knowledge bases by name."""
    return part.of(request, workspace.bases(), KnowledgeBaseData.of)


@bases.post("/knowledge-bases", **_MADE)
def create_knowledge_base(
    request: Request, workspace: Shared, body: NewBase, idempotent: Maker
) -> Response:
    """Make a knowledge base. Documents are added to it afterwards."""

    def make() -> Made:
        like = Recipe() if body.like is None else base_called(workspace, body.like).recipe()
        made = workspace.create(body.name, like.merged({} if body.recipe is None else body.recipe))
        return Made(
            201, _one(workspace, made.id).dump(), where(request, "knowledge-bases", made.id)
        )

    return idempotent(body.model_dump(), make)


@bases.get("/knowledge-bases/{kb}", **needs("read", 404))
def get_knowledge_base(workspace: Shared, base: Base) -> KnowledgeBaseData:
    """One knowledge base."""
    return _one(workspace, base.id)


@bases.patch("/knowledge-bases/{kb}", **needs("write", 400, 404, 409, 415))
def rename_knowledge_base(
    workspace: Shared, base: Base, body: KnowledgeBaseChanges
) -> KnowledgeBaseData:
    """Give a knowledge base another name; its id stays."""
    workspace.rename(base.id, body.name)
    return _one(workspace, base.id)


@bases.post("/knowledge-bases/{kb}/duplicate", **_QUEUED)
def duplicate_knowledge_base(
    request: Request, workspace: Shared, base: Base, body: DuplicateRequest, idempotent: Maker
) -> Response:
    """Queue a copy with documents, recipes, prompts, question sets and labels, without runs,
    members or conversations. The copy is that of the job's `knowledge_base`."""

    def make() -> Made:
        return queued(request, workspace, workspace.duplicate(base.id, body.name)[1])

    return idempotent(body.model_dump(), make)


@bases.delete("/knowledge-bases/{kb}", **needs("admin", 404, status_code=204))
def delete_knowledge_base(workspace: Shared, base: Base) -> Response:
    """Delete a knowledge base with its documents, labels, runs and conversations."""
    workspace.delete(base.id)
    return Response(status_code=204)


def _one(workspace: Shared, base_id: int) -> KnowledgeBaseData:
    """A knowledge base by its id: its name may be another one at any moment. Raises NotFound."""
    for info in workspace.bases():
        if info.id == base_id:
            return KnowledgeBaseData.of(info)
    raise NotFound("The knowledge base is gone.", "Someone deleted it; choose another.")
