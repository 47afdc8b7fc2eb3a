"""People, members, links and tokens as typed JSON, without secrets."""

from __future__ import annotations

from rag.workspace.schemas.schema import Schema, Timestamp, attribute


class PersonData(Schema):
    """A person who signed in or was invited."""

    email: str
    name: str
    administrator: bool


class MemberData(Schema):
    """A member of a knowledge base."""

    email: str = attribute("person", "email")
    name: str = attribute("person", "name")
    role: str


class LinkData(Schema):
    """A link, without its secret.

    ``tour`` is the only tour that it shows, 0 once that is deleted, or None for all tours.
    """

    id: str
    name: str
    tour: int | None = attribute("tour_id")
    created: Timestamp
    expires: Timestamp
    revoked: Timestamp | None
    valid: bool


class TokenData(Schema):
    """A token of the API, without its secret; ``expires`` is None for one that doesn't expire."""

    id: str
    name: str
    scopes: tuple[str, ...]
    created: Timestamp
    expires: Timestamp | None
    used: Timestamp | None
    revoked: Timestamp | None
    valid: bool
    budget: dict[str, float]
