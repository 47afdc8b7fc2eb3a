"""The tables. SQL holds the truth; every search index is derived from it and may be deleted."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def base_id(primary: bool = False) -> Column[int]:
    """The column that says which knowledge base a row belongs to."""
    owner = ForeignKey("knowledge_base.id", ondelete="CASCADE")
    return Column("base_id", Integer, owner, primary_key=primary, nullable=False)


def goes_with(table: str, **columns: str) -> ForeignKeyConstraint:
    """Rows go with that of another table; ``columns`` are its columns by what they are here."""
    there = [f"{table}.{name}" for name in columns.values()]
    return ForeignKeyConstraint(list(columns), there, ondelete="CASCADE")


knowledge_base = Table(
    "knowledge_base",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("recipe", JSON, nullable=False),
    # Counts changes of the documents: one cheap query tells a reader whether its index is current.
    Column("version", Integer, nullable=False, default=0),
    Column("created", DateTime(timezone=True), nullable=False),
    # Hidden from everyone: its rows go in portions, and this one last.
    Column("deleted", Boolean, nullable=False, default=False, server_default=false()),
)

recipe_version = Table(
    "recipe_version",
    metadata,
    base_id(primary=True),
    Column("hash", String(12), primary_key=True),
    Column("recipe", JSON, nullable=False),
    Column("saved", DateTime(timezone=True), nullable=False),
)

document = Table(
    "document",
    metadata,
    base_id(primary=True),
    Column("id", String(64), primary_key=True),
    Column("name", String, nullable=False),
    Column("source", String, nullable=False),
    Column("media_type", String, nullable=False),
    Column("pages", JSON, nullable=False),
    Column("headings", JSON, nullable=False),
    Column("metadata", JSON, nullable=False),
    Column("characters", Integer, nullable=False),
    Column("added", DateTime(timezone=True), nullable=False),
    Column("tags", JSON, nullable=False, server_default="[]"),
    Column("tables", JSON, nullable=False, server_default="[]"),
    Column("reader_version", Integer, nullable=False, server_default="0"),
    Column("receipt", JSON(none_as_null=True)),
    # The version of the base in which its passages were cut anew, without another text.
    Column("recut", Integer, nullable=False, server_default="0"),
    UniqueConstraint("base_id", "name"),
)

# The text in parts: a database copies a value several times on its way in, and a text may be large.
document_part = Table(
    "document_part",
    metadata,
    Column("base_id", Integer, primary_key=True),
    Column("document_id", String(64), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("text", Text, nullable=False),
    goes_with("document", base_id="base_id", document_id="id"),
)

# A cut is one way to divide documents and what is indexed beside the passages; builds share it.
# The passages of a large document have a segment of the cut: a row of their own, by which they
# appear and go at once, however long it takes to store and to delete them.
cut = Table(
    "cut",
    metadata,
    Column("id", Integer, primary_key=True),
    base_id(),
    Column("name", String, nullable=False),
    # Of a segment: its cut, null where it is not complete or deleted; and its document.
    Column("segment_of", Integer),
    Column("document_id", String(64)),
    UniqueConstraint("base_id", "name"),
    Index(None, "segment_of"),
)

chunk = Table(
    "chunk",
    metadata,
    Column("cut_id", Integer, ForeignKey("cut.id", ondelete="CASCADE"), nullable=False),
    Column("key", BigInteger, nullable=False),
    base_id(),
    Column("document_id", String(64), nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer, nullable=False),
    Column("order", Integer, nullable=False),
    Column("page", Integer),
    Column("heading", String, nullable=False),
    Column("text", Text, nullable=False),
    # What is indexed with the text and not shown; the hash is of both, as they are embedded.
    Column("context", Text, nullable=False, server_default=""),
    Column("text_hash", LargeBinary(16), nullable=False),
    PrimaryKeyConstraint("cut_id", "key"),
    # No key of the document: its segments come before it, and go after it.
    Index(None, "base_id", "document_id", "cut_id"),
    Index(None, "text_hash"),
)

# Vectors by embedder and text, so that cutting or reading again embeds only text that is new.
# Not called as pgvector calls its type: PostgreSQL makes a type of each table's name too.
vector = Table(
    "text_vector",
    metadata,
    Column("embedder", String, primary_key=True),
    Column("text_hash", LargeBinary(16), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

build = Table(
    "build",
    metadata,
    base_id(primary=True),
    Column("hash", String(12), primary_key=True),
    Column("cut_id", Integer, ForeignKey("cut.id", ondelete="CASCADE"), nullable=False),
    Column("recipe", JSON, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
)

# Which documents a build holds, with all their passages. Written in the transaction that writes
# these. A document that ``waits`` lacks vectors: only lexical search finds it until then.
indexed = Table(
    "indexed",
    metadata,
    Column("base_id", Integer, primary_key=True),
    Column("build_hash", String(12), primary_key=True),
    Column("document_id", String(64), primary_key=True),
    Column("waits", Boolean, nullable=False, default=False, server_default=false()),
    goes_with("build", base_id="base_id", build_hash="hash"),
    goes_with("document", base_id="base_id", document_id="id"),
)

# The bytes of files where the database is on a server: other machines have no part in a folder.
file_part = Table(
    "file_part",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

# Whose vectors are in which table of pgvector, by number (PostgreSQL only; see rag/stores).
vector_build = Table(
    "vector_build",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String, nullable=False, unique=True),
    Column("dimension", Integer, nullable=False),
)

question_set = Table(
    "question_set",
    metadata,
    Column("id", Integer, primary_key=True),
    base_id(),
    Column("name", String, nullable=False),
    Column("version", Integer, nullable=False, default=1),
    # Which questions are for choosing recipes and which for reporting: decided by seed and share.
    Column("split_seed", Integer, nullable=False, default=0),
    Column("split_share", Float, nullable=False, default=0.5),
    Column("changed", DateTime(timezone=True), nullable=False),
    Column("licence", String, nullable=False, server_default=""),
    UniqueConstraint("base_id", "name"),
)

# Questions and labels of a set as they were before others took their place.
question_set_version = Table(
    "question_set_version",
    metadata,
    Column("set_id", Integer, ForeignKey("question_set.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("questions", Integer, nullable=False),
    Column("labels", Integer, nullable=False),
    Column("content", JSON, nullable=False),
    Column("replaced", DateTime(timezone=True), nullable=False),
)

question = Table(
    "question",
    metadata,
    Column("set_id", Integer, ForeignKey("question_set.id", ondelete="CASCADE"), primary_key=True),
    Column("id", String, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("answerable", Boolean, nullable=False),
    Column("tags", JSON, nullable=False),
    # "proposed" by a generator until someone accepts or rejects it; only "accepted" ones count.
    Column("state", String, nullable=False, default="accepted"),
    Column("origin", String, nullable=False, default=""),
    Column("leak", Float),
    # What somebody said it rises and falls with: "" where nobody did, "-" for nothing.
    Column("group", String, nullable=False, default=""),
    # What a right answer says, "" where nobody wrote it down.
    Column("answer", Text, nullable=False, default="", server_default=""),
)

# Labels are spans of documents, never passages: they outlive every cut. They refer to a document
# by name too, and stay when it goes, so that a new version can be searched for the quote.
evidence = Table(
    "evidence",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("set_id", Integer, nullable=False),
    Column("question_id", String, nullable=False),
    Column("document_id", String(64)),
    Column("document_name", String, nullable=False),
    Column("start", Integer, nullable=False),
    Column("end", Integer),
    Column("grade", Integer, nullable=False),
    Column("quote", Text, nullable=False),
    Column("page", Integer),
    Column("origin", String, nullable=False, server_default=""),
    Column("nugget", String, nullable=False, server_default=""),
    # Null for labels from before dates were kept.
    Column("created", DateTime(timezone=True)),
    goes_with("question", set_id="set_id", question_id="id"),
    Index(None, "set_id", "question_id"),
    Index(None, "document_id"),
    Index(None, "document_name"),
)

run = Table(
    "run",
    metadata,
    Column("id", String(12), primary_key=True),
    base_id(),
    Column("question_set", String, nullable=False),
    Column("set_version", Integer, nullable=False),
    # Of a system: "", null in JSON and "".
    Column("recipe_hash", String(12), nullable=False),
    Column("recipe", JSON, nullable=False),
    Column("build_hash", String(12), nullable=False),
    # In the place of a recipe: the system that was measured.
    Column("system", JSON(none_as_null=True)),
    Column("base_version", Integer, nullable=False),
    Column("documents", Integer, nullable=False),
    Column("documents_hash", String(64), nullable=False),
    Column("questions", Integer, nullable=False),
    Column("metrics", JSON, nullable=False),
    Column("environment", JSON, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("note", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Index(None, "base_id", "created"),
)

# The run that others of its question set are measured against.
baseline = Table(
    "baseline",
    metadata,
    base_id(primary=True),
    Column("question_set", String, primary_key=True),
    Column("run_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
)

run_question = Table(
    "run_question",
    metadata,
    Column("run_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("question_id", String, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("answerable", Boolean, nullable=False),
    Column("metrics", JSON, nullable=False),
    Column("ranking", JSON, nullable=False),
    Column("first_relevant", Integer),
    Column("found", Integer, nullable=False),
    Column("relevant", Integer, nullable=False),
    Column("cut_rank", Integer),
)

# Texts that a system returned and no document contains, by their id in the rankings of the run.
foreign_text = Table(
    "foreign_text",
    metadata,
    Column("run_id", String(12), ForeignKey("run.id", ondelete="CASCADE"), primary_key=True),
    Column("id", String(24), primary_key=True),
    Column("text", Text, nullable=False),
)

# How relevance reads as a probability in a build, learned from the labels of a question set.
calibration = Table(
    "calibration",
    metadata,
    Column("base_id", Integer, primary_key=True),
    Column("build_hash", String(12), primary_key=True),
    Column("question_set", String, nullable=False),
    Column("set_version", Integer, nullable=False),
    Column("questions", Integer, nullable=False),
    Column("model", JSON, nullable=False),
    Column("quality", JSON, nullable=False),
    # What "auto" means with this calibration.
    Column("threshold", Float),
    Column("created", DateTime(timezone=True), nullable=False),
    goes_with("build", base_id="base_id", build_hash="hash"),
)

job = Table(
    "job",
    metadata,
    Column("id", Integer, primary_key=True),
    base_id(),
    Column("kind", String, nullable=False),
    Column("title", String, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("status", String, nullable=False),
    Column("done", Integer, nullable=False, default=0),
    Column("total", Integer, nullable=False, default=0),
    Column("message", String, nullable=False, default=""),
    Column("seconds_left", Float),
    # What came of it, for those who asked: written in the transaction that ends the job.
    Column("result", JSON(none_as_null=True)),
    Column("cancel", Boolean, nullable=False, default=False),
    # The worker of the job renews the lease; when it runs out, another process resumes.
    Column("owner", String),
    Column("lease", Float),
    # Owners that died since an item was last done: what kills its process is not tried for ever.
    Column("deaths", Integer, nullable=False, default=0, server_default="0"),
    # When it last went back to the queue, unfinished, for a job of another base.
    Column("gave_way", DateTime(timezone=True)),
    Column("created", DateTime(timezone=True), nullable=False),
    Column("finished", DateTime(timezone=True)),
    Index(None, "status"),
)

job_item = Table(
    "job_item",
    metadata,
    Column("job_id", Integer, ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", String, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("status", String, nullable=False),
    Column("reason", Text, nullable=False, default=""),
    Column("hint", Text, nullable=False, default=""),
    Column("chunks", Integer, nullable=False, default=0),
)
