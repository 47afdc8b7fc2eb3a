"""Builds: the indexes that a knowledge base has, and deleting those that nobody needs."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Request, Response

from rag import (
    BuildData,
    NotFound,
    build_data,
)
from rag.api.resource import Base, Page, Part, Resource, needs

builds = Resource("builds")


@builds.get("/knowledge-bases/{kb}/builds", **needs("read", 404, 502))
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
