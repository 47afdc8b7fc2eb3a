"""Knowledge bases with their members, links and tours."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Request, Response
from pydantic import Field

from rag import (
    KnowledgeBaseData,
    LinkData,
    Made,
    Member,
    MemberData,
    NewLinkData,
    NotFound,
    Recipe,
    TourData,
    share_path,
)
from rag.api.resource import (
    MOST_ID,
    Base,
    Body,
    Maker,
    Page,
    Part,
    Resource,
    RowId,
    Shared,
    base_called,
    needs,
    where,
)
from rag.api.resources.jobs import JobData, Queue

bases = Resource("knowledge bases")


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

    return idempotent(body, make)


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
    workspace: Shared, base: Base, body: DuplicateRequest, queue: Queue
) -> Response:
    """Queue a copy with documents, recipes, prompts, question sets and labels, without runs,
    members or conversations. The copy is that of the job's `knowledge_base`."""
    return queue(body, lambda: workspace.duplicate(base.id, body.name)[1])


@bases.delete("/knowledge-bases/{kb}", **needs("admin", 404, status_code=204))
def delete_knowledge_base(workspace: Shared, base: Base) -> Response:
    """Delete a knowledge base with its documents, labels, runs and conversations."""
    workspace.delete(base.id)
    return Response(status_code=204)


def _one(workspace: Shared, base_id: int) -> KnowledgeBaseData:
    """A knowledge base by its id: its name may be another one at any moment. Raises NotFound."""
    for info in workspace.bases():
        if info.id == base_id:
            return info
    raise NotFound("The knowledge base is gone.", "Someone deleted it; choose another.")


Role = Literal["viewer", "labeller", "editor", "owner"]
Email = Annotated[str, Path(description="the e-mail address of a member", max_length=254)]

members = Resource("members")
links = Resource("links")


class NewMember(Body):
    """Whom to make a member, also somebody who never signed in."""

    email: str = Field(max_length=254)
    role: Role = "viewer"


class NewRole(Body):
    """The new role of a member."""

    role: Role


class NewLink(Body):
    """A link to make."""

    name: str = Field("", max_length=80)
    days: int = Field(7, ge=1, le=365)
    tour: int | None = Field(None, ge=1, le=MOST_ID, description="the only tour to show")


@members.get("/knowledge-bases/{kb}/members", **needs("read", 404))
def list_members(request: Request, base: Base, part: Part) -> Page[MemberData]:
    """The members by address; none where nobody signs in."""
    return part.of(request, base.access.members(), MemberData.of)


@members.post(
    "/knowledge-bases/{kb}/members",
    **needs("admin", *(400, 404, 409, 415), response_model=MemberData, status_code=201),
)
def add_member(request: Request, base: Base, body: NewMember, idempotent: Maker) -> Response:
    """Make a person a member; who is one already is changed by PATCH."""

    def make() -> Made:
        email = base.access.add_member(body.email, body.role).email
        address = where(request, "knowledge-bases", base.id, "members", email)
        return Made(201, MemberData.of(_member(base, email)).dump(), address)

    return idempotent(body, make)


@members.patch("/knowledge-bases/{kb}/members/{member}", **needs("admin", 400, 404, 415))
def change_role(base: Base, member: Email, body: NewRole) -> MemberData:
    """Give a member another role; the last owner stays one."""
    base.access.change_member(member, body.role)
    return MemberData.of(_member(base, member))


@members.delete("/knowledge-bases/{kb}/members/{member}", **needs("admin", 404, status_code=204))
def remove_member(base: Base, member: Email) -> Response:
    """Take a member out; the last owner stays."""
    base.access.remove_member(member)
    return Response(status_code=204)


@links.get("/knowledge-bases/{kb}/links", **needs("admin", 404))
def list_links(request: Request, base: Base, part: Part) -> Page[LinkData]:
    """All links, newest first, without their secrets."""
    return part.of(request, base.access.links(), LinkData.of)


@links.post("/knowledge-bases/{kb}/links", **needs("admin", 400, 404, 415, status_code=201))
def create_link(workspace: Shared, base: Base, body: NewLink) -> NewLinkData:
    """Make a link. `path` has its secret, which is answered this once and kept nowhere: so there
    is no idempotency key."""
    secret, row = base.access.create_link(
        body.name, body.days, workspace.principal.person.id, body.tour
    )
    return NewLinkData.of(row, path=share_path(secret, row.tour_id))


@links.delete("/knowledge-bases/{kb}/links/{link}", **needs("admin", 404, status_code=204))
def revoke_link(base: Base, link: Annotated[str, Path(description="the id of a link")]) -> Response:
    """Let a link show nothing any more."""
    base.access.revoke_link(link)
    return Response(status_code=204)


def _member(base: Base, email: str) -> Member:
    wanted = email.strip().casefold()
    for member in base.access.members():
        if member.person.email == wanted:
            return member
    raise NotFound(f"{email} is not a member.")


tours = Resource("tours")


@tours.get("/knowledge-bases/{kb}/tours", **needs("read", 404))
def list_tours(request: Request, base: Base, part: Part) -> Page[TourData]:
    """List the tours of a knowledge base, the one changed last first."""
    return part.of(request, base.conversations.tours.list_tours(), TourData.of)


@tours.get("/knowledge-bases/{kb}/tours/{tour}", **needs("read", 404))
def get_tour(base: Base, tour: RowId) -> TourData:
    """Return one tour."""
    return base.conversations.tours.get(tour)


@tours.delete("/knowledge-bases/{kb}/tours/{tour}", **needs("admin", 404, status_code=204))
def delete_tour(base: Base, tour: RowId) -> Response:
    """Delete a tour. Links to it then show no tour."""
    base.conversations.tours.delete(tour)
    return Response(status_code=204)
