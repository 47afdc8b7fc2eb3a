"""Tables of what was asked and answered."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
)

from rag.storage.tables import base_id, goes_with, metadata

conversation = Table(
    "conversation",
    metadata,
    Column("id", Integer, primary_key=True),
    base_id(),
    # Whose it is: a digest of the key in a browser, "" for the user of this machine.
    Column("visitor", String, nullable=False, server_default=""),
    Column("name", String, nullable=False, server_default=""),
    # In what its recipe differs from the saved one, and more; null where nobody ever kept any.
    Column("settings", JSON(none_as_null=True)),
    # The last turn of the branch that is shown; null for the newest turn.
    Column("head", Integer),
    Column("created", DateTime(timezone=True), nullable=False),
    Index(None, "base_id", "visitor"),
)

turn = Table(
    "turn",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("conversation_id", Integer, nullable=False),
    # The turn before it; those with the same one are versions of each other.
    Column("parent", Integer),
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
    # Why the thumb is down, what would have been right, and what a review made of it.
    Column("reason", String, nullable=False, server_default=""),
    Column("correction", Text, nullable=False, server_default=""),
    Column("review", String, nullable=False, server_default=""),
    # How often one of its citations was opened.
    Column("clicks", Integer, nullable=False, server_default="0"),
    # The knowledge bases that were searched too.
    Column("also", JSON, nullable=False, server_default="[]"),
    Column("rewritten", Text, nullable=False, server_default=""),
    # What was counted and timed; {} of turns that were asked before it was.
    Column("metrics", JSON, nullable=False, server_default="{}"),
    # The past interactions that stood in its prompt.
    Column("examples", JSON, nullable=False, server_default="[]"),
    # What each sentence of the answer was found to rest on.
    Column("sentences", JSON, nullable=False, server_default="[]"),
    # Decisions, budget, wording: how the answer came about.
    Column("details", JSON, nullable=False, server_default="{}"),
    Column("created", DateTime(timezone=True), nullable=False),
    goes_with("conversation", conversation_id="id"),
    Index(None, "conversation_id"),
)

# What the memory holds of a turn. It goes with the turn, or alone, when it shall not be used again.
interaction = Table(
    "interaction",
    metadata,
    Column("turn_id", Integer, primary_key=True),
    Column("question", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("outcome", String, nullable=False),
    # Whether it was one of several steps: it had turns of its conversation before it.
    Column("follow_up", Boolean, nullable=False),
    # What the answer cites: document, span, and the hash of its text as it was then.
    Column("sources", JSON, nullable=False),
    Column("corrected", Boolean, nullable=False, default=False),
    goes_with("turn", turn_id="id"),
)

# Vectors of its question, by embedder.
interaction_vector = Table(
    "interaction_vector",
    metadata,
    Column("turn_id", Integer, primary_key=True),
    Column("embedder", String, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    goes_with("interaction", turn_id="turn_id"),
)

# A question that two recipes answered, in the order in which their answers were shown.
bout = Table(
    "bout",
    metadata,
    Column("id", Integer, primary_key=True),
    base_id(),
    Column("visitor", String, nullable=False),
    Column("question", Text, nullable=False),
    Column("left", JSON, nullable=False),
    Column("right", JSON, nullable=False),
    Column("vote", String, nullable=False, default=""),
    Column("created", DateTime(timezone=True), nullable=False),
    Index(None, "base_id", "visitor"),
)
