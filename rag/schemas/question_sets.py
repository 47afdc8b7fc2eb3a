"""Question sets as JSON."""

from __future__ import annotations

from rag.schemas.schema import Schema, Timestamp


class VersionData(Schema):
    """A version of a question set that another one replaced."""

    version: int
    questions: int
    labels: int
    replaced: Timestamp
