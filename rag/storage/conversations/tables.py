"""Tables of what was asked and answered."""

from __future__ import annotations

from sqlalchemy import JSON, Column, DateTime, Float, Index, Integer, String, Table, Text

from rag.storage.tables import base_id, goes_with, metadata

conversation = Table(
    "conversation",
    metadata,
    Column("id", Integer, primary_key=True),
    base_id(),
    Column("created", DateTime(timezone=True), nullable=False),
)

turn = Table(
    "turn",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("conversation_id", Integer, nullable=False),
    Column("question", Text, nullable=False),
    Column("recipe", JSON, nullable=False),
    Column("answer", Text, nullable=False, default=""),
    # "asked" until the answer ends, however it ends.
    Column("status", String, nullable=False),
    Column("mode", String, nullable=False, default=""),
    Column("citations", JSON, nullable=False),
    Column("note", Text, nullable=False, default=""),
    Column("passages", Integer, nullable=False, default=0),
    Column("seconds", Float, nullable=False, default=0.0),
    Column("thumb", Integer, nullable=False, default=0),
    # The knowledge bases that were searched too.
    Column("also", JSON, nullable=False, server_default="[]"),
    Column("rewritten", Text, nullable=False, server_default=""),
    Column("created", DateTime(timezone=True), nullable=False),
    goes_with("conversation", conversation_id="id"),
    Index(None, "conversation_id"),
)
