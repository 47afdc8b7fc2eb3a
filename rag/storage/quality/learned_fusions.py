"""Learned fusions by knowledge base and hash; models and passports are opaque here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    Column,
    Connection,
    DateTime,
    Integer,
    String,
    Table,
    delete,
    func,
    insert,
    select,
)

from rag.storage import bases
from rag.storage.rows import read, values
from rag.storage.tables import base_id as owned
from rag.storage.tables import metadata

learned_fusion = Table(
    "learned_fusion",
    metadata,
    owned(primary=True),
    Column("hash", String(12), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("kind", String, nullable=False),
    Column("question_set", String, nullable=False),
    Column("set_version", Integer, nullable=False),
    Column("questions", Integer, nullable=False),
    Column("model", JSON, nullable=False),
    # Embedder and BM25 fields, which the scales of the features depend on.
    Column("learned_with", JSON, nullable=False),
    Column("passports", JSON, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
)


@dataclass(frozen=True, slots=True)
class LearnedFusionRow:
    """A version of the learned fusions of a knowledge base; version 0 is not stored yet."""

    hash: str
    version: int
    kind: str
    question_set: str
    set_version: int
    questions: int
    model: Mapping[str, Any]
    learned_with: Mapping[str, Any]
    passports: Sequence[Mapping[str, Any]]
    created: datetime


def list_all(connection: Connection, base_id: int) -> list[LearnedFusionRow]:
    """All versions, newest first."""
    mine = select(learned_fusion).where(learned_fusion.c.base_id == base_id)
    rows = connection.execute(mine.order_by(learned_fusion.c.version.desc()))
    return [read(LearnedFusionRow, row) for row in rows]


def find(connection: Connection, base_id: int, hash_: str) -> LearnedFusionRow | None:
    """A learned fusion, or None."""
    mine = (learned_fusion.c.base_id == base_id) & (learned_fusion.c.hash == hash_)
    row = connection.execute(select(learned_fusion).where(mine)).first()
    return None if row is None else read(LearnedFusionRow, row)


def add(connection: Connection, base_id: int, row: LearnedFusionRow) -> LearnedFusionRow:
    """Store a learned fusion with the next version, unless it is there; return what is stored.

    Raises NotFound for a knowledge base that is gone.
    """
    bases.hold(connection, base_id)  # two that are added at once get two versions
    before = find(connection, base_id, row.hash)
    if before is not None:
        return before
    newest = select(func.max(learned_fusion.c.version)).where(learned_fusion.c.base_id == base_id)
    numbered = replace(row, version=(connection.execute(newest).scalar() or 0) + 1)
    connection.execute(
        insert(learned_fusion).values(values(learned_fusion, numbered, base_id=base_id))
    )
    return numbered


def remove(connection: Connection, base_id: int, hash_: str) -> bool:
    """Delete a learned fusion; return whether there was one."""
    mine = (learned_fusion.c.base_id == base_id) & (learned_fusion.c.hash == hash_)
    return connection.execute(delete(learned_fusion).where(mine)).rowcount > 0
