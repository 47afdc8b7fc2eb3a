"""Looks of the drift watch at a question set; reports and states are opaque here."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
)

from rag.storage.tables import metadata

watch_look = Table(
    "watch_look",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("set_id", Integer, ForeignKey("question_set.id", ondelete="CASCADE"), nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("is_reference", Boolean, nullable=False),
    Column("report", JSON, nullable=False),
    # What later looks are compared with; {} of looks that are no reference.
    Column("state", JSON, nullable=False),
    Index(None, "set_id", "created"),
)
