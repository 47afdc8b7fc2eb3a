"""Question sets as JSON."""

from __future__ import annotations

from rag.workspace.schemas.schema import Schema, Timestamp


class VersionData(Schema):
    """A version of a question set that another one replaced."""

    version: int
    questions: int
    labels: int
    replaced: Timestamp
    superseded_by: int


class PassportData(Schema):
    """The passport of a question set: its makers, its coverage and its problems."""

    set: str
    version: int
    changed: Timestamp
    licence: str
    questions: int
    unanswerable: int
    unlabelled: list[str]
    lost_labels: int
    questions_by: dict[str, int]
    labels_by: dict[str, int]
    first_label: Timestamp | None
    last_label: Timestamp | None
    duplicates: list[list[str]]
    near_duplicates: list[list[str]]
    contradictions: list[list[str]]
    languages: dict[str, int]
    covered: int
    uncovered: list[str]
    problems: list[str]
