"""Members of a knowledge base and their roles, and links that share it."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import Path, Request, Response
from pydantic import Field

from rag import LinkData, Made, Member, MemberData, NotFound, share_path
from rag.api.resource import MOST_ID, Base, Body, Maker, Page, Part, Resource, Shared, needs, where

Role = Literal["viewer", "labeller", "editor", "owner"]
Email = Annotated[str, Path(description="the e-mail address of a member", max_length=254)]

members = Resource("members")
links = Resource("links")


class NewLinkData(LinkData):
    """A link that was just made; ``path`` has its secret."""

    path: str


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

    return idempotent(body.model_dump(), make)


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
    return NewLinkData(**dict(LinkData.of(row)), path=share_path(secret, row.tour_id))


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
