"""Tables of judgements and of answers that runs gave."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from rag.storage.tables import base_id, metadata

judgement = Table(
    "judgement",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("question_id", String, nullable=False),
    Column("item", String, nullable=False),
    # Provider and model, the code that asked it, and the rubric with its version.
    Column("judge", String, nullable=False),
    Column("version", String, nullable=False),
    Column("rubric", String, nullable=False),
    Column("repetition", Integer, nullable=False),
    Column("grade", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    # With which the hit was drawn among those that could have been judged: 1 where all were.
    Column("probability", Float, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    UniqueConstraint("run_id", "question_id", "item", "judge", "rubric", "repetition"),
)

# Answers come in one by one, before their run is stored: that is done with the last of them.
run_answer = Table(
    "run_answer",
    metadata,
    Column("run_id", String(12), primary_key=True),
    Column("question_id", String, primary_key=True),
    base_id(),
    Column("status", String, nullable=False),
    Column("mode", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("sentences", JSON, nullable=False),
    Column("metrics", JSON, nullable=False),
    # Seconds of the search, until the first piece of text, and in all; tokens as reported.
    Column("searched", Float, nullable=False),
    Column("first_token", Float),
    Column("seconds", Float, nullable=False),
    Column("prompt_tokens", Integer, nullable=False),
    Column("completion_tokens", Integer, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Index(None, "base_id"),
)
