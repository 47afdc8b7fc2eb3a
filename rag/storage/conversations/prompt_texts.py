"""Prompts that people wrote for a knowledge base: every version, the last one of a name counts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Column, Connection, DateTime, Integer, String, Table, Text, insert, select

from rag.storage.rows import read
from rag.storage.tables import base_id as owner
from rag.storage.tables import metadata

prompt_text = Table(
    "prompt_text",
    metadata,
    Column("id", Integer, primary_key=True),
    owner(),
    Column("name", String, nullable=False),
    # "" stands for the text that the product comes with.
    Column("text", Text, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
)


@dataclass(frozen=True, slots=True)
class PromptVersion:
    """A text that a prompt was given; "" where it was reset to the one it came with."""

    name: str
    text: str
    created: datetime


def list_prompt_versions(connection: Connection, base_id: int) -> list[PromptVersion]:
    """All versions of all prompts of a base, oldest first."""
    mine = select(prompt_text).where(prompt_text.c.base_id == base_id).order_by(prompt_text.c.id)
    return [read(PromptVersion, row) for row in connection.execute(mine)]


def add(connection: Connection, base_id: int, name: str, text: str) -> None:
    """Keep a new version."""
    values = {"base_id": base_id, "name": name, "text": text, "created": datetime.now(UTC)}
    connection.execute(insert(prompt_text).values(values))
