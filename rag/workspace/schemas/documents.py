"""Documents as JSON."""

from __future__ import annotations

from rag.workspace.schemas.schema import Schema


class OmissionData(Schema):
    """Content of one kind that was not read; ``first`` is the place of the first one."""

    kind: str
    count: int
    first: str


class ReceiptData(Schema):
    """The account of the reading of a document."""

    read: dict[str, int | str]
    left_out: list[OmissionData]
