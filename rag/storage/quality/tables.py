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
    # What it cost at the time; null where the price was not known.
    Column("cost", Float),
    Column("currency", String(8), nullable=False, server_default=""),
    # The version that the server said it answered with.
    Column("model", String, nullable=False, server_default=""),
    # The probability that a decision model stated; null of a grade in words.
    Column("stated", Float),
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
    # Past interactions that the prompt held.
    Column("examples", Integer, nullable=False, server_default="0"),
    # Names the wording of its prompts; "" for quotes.
    Column("prompt_version", String, nullable=False, server_default=""),
    # What the answer and its judge cost at the time; null where the price was not known.
    Column("cost", Float),
    Column("currency", String(8), nullable=False, server_default=""),
    Column("judge_tokens", Integer, nullable=False, server_default="0"),
    Column("judge_cost", Float),
    Column("created", DateTime(timezone=True), nullable=False),
    Index(None, "base_id"),
)

# Which of the answers of two runs to a question a judge prefers, asked in both orders.
preference = Table(
    "preference",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("run_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("other_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
    Column("question_id", String, nullable=False),
    Column("judge", String, nullable=False),
    Column("version", String, nullable=False),
    Column("rubric", String, nullable=False),
    # 1 where the first run's is better, -1 where the other's is; halves where the orders differ.
    Column("vote", Float, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("cost", Float),
    Column("currency", String(8), nullable=False, server_default=""),
    Column("created", DateTime(timezone=True), nullable=False),
    UniqueConstraint("run_id", "other_id", "question_id", "judge", "rubric"),
    Index(None, "other_id"),
)
