"""Permission audits as JSON."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rag.schemas.schema import Schema


class LeakData(Schema):
    """A result that came back to a user who must not see it."""

    user: str
    question: str
    rank: int
    kind: Literal["document", "passage"] = Field(
        description="a hidden document, or the words of a canary passage"
    )
    document: str
    page: int | None
    text: str
    located: str = Field(description="how it was located in the document")


class UserTallyData(Schema):
    """The results of a user; `error` is the first of the `errors` in words."""

    user: str
    questions: int
    results: int
    leaks: int
    errors: int
    error: str


class PermissionReportData(Schema):
    """An audit: `leaks` counts all, and `listed` has at most 1,000 of them."""

    source: str = Field(description="the recipe or the system")
    question_set: str
    outcome: Literal["leaks", "incomplete", "untested", "passed"]
    headline: str
    questions: int
    documents: int
    restricted: int = Field(description="documents that are hidden from at least one user")
    reached: int = Field(description="those of them that came back to somebody")
    canaries: int
    canaries_reached: int
    results: int
    unlocated: int = Field(description="results in no document, or in too many to tell")
    leaks: int
    users: list[UserTallyData]
    listed: list[LeakData]
