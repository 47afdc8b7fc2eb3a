"""Systems under test as JSON."""

from __future__ import annotations

from pydantic import Field

from rag.experiments.systems.endpoints import HttpSystem
from rag.workspace.schemas.schema import Schema, Timestamp, attribute


class SystemData(Schema):
    """The newest version of a system. Headers name environment variables, never their values."""

    name: str
    version: int
    hash: str = Field(description="SHA-256 of the definition")
    definition: HttpSystem
    created: Timestamp
    unset: list[str] = Field(description="environment variables that it needs and that are not set")


class TriedResultData(Schema):
    """A result of a trial; `document` is empty and `place` null where no document contains it."""

    rank: int
    text: str
    score: float | None
    title: str
    located: str = attribute("method", description="how it was located in the documents")
    document: str
    page: int | None
    place: list[int] | None = Field(description="start and end in the text of the document")


class SystemTrialData(Schema):
    """The located results of one question."""

    question: str
    located: int = Field(description="results that a document contains")
    seconds: float
    results: list[TriedResultData]
