"""The tables. SQL holds the truth; every search index is derived from it and may be deleted."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa

metadata = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class UtcDateTime(sa.TypeDecorator[datetime]):
    """A moment in UTC; SQLite stores it without its zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Convert a moment of any zone."""
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        """Return a moment as it was stored, with its zone."""
        if value is None or value.tzinfo:
            return value
        return value.replace(tzinfo=UTC)


def base_id(primary: bool = False) -> sa.Column[int]:
    """The column that says which knowledge base a row belongs to."""
    owner = sa.ForeignKey("knowledge_base.id", ondelete="CASCADE")
    return sa.Column("base_id", sa.Integer, owner, primary_key=primary, nullable=False)


def goes_with(table: str, **columns: str) -> sa.ForeignKeyConstraint:
    """Rows go with that of another table; ``columns`` are its columns by what they are here."""
    there = [f"{table}.{name}" for name in columns.values()]
    return sa.ForeignKeyConstraint(list(columns), there, ondelete="CASCADE")


knowledge_base = sa.Table(
    "knowledge_base",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("recipe", sa.JSON, nullable=False),
    # Counts changes of the documents: one cheap query tells a reader whether its index is current.
    sa.Column("version", sa.Integer, nullable=False, default=0),
    sa.Column("created", UtcDateTime, nullable=False),
    # Hidden from everyone: its rows go in portions, and this one last.
    sa.Column("deleted", sa.Boolean, nullable=False, default=False, server_default=sa.false()),
)

recipe_version = sa.Table(
    "recipe_version",
    metadata,
    base_id(primary=True),
    sa.Column("hash", sa.String(12), primary_key=True),
    sa.Column("recipe", sa.JSON, nullable=False),
    sa.Column("saved", UtcDateTime, nullable=False),
)

document = sa.Table(
    "document",
    metadata,
    base_id(primary=True),
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("source", sa.String, nullable=False),
    sa.Column("media_type", sa.String, nullable=False),
    sa.Column("pages", sa.JSON, nullable=False),
    sa.Column("headings", sa.JSON, nullable=False),
    sa.Column("metadata", sa.JSON, nullable=False),
    sa.Column("characters", sa.Integer, nullable=False),
    sa.Column("added", UtcDateTime, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False, server_default="[]"),
    sa.Column("tables", sa.JSON, nullable=False, server_default="[]"),
    sa.Column("reader_version", sa.Integer, nullable=False, server_default="0"),
    sa.Column("receipt", sa.JSON(none_as_null=True)),
    # The version of the base in which its passages were cut anew, without another text.
    sa.Column("recut", sa.Integer, nullable=False, server_default="0"),
    sa.UniqueConstraint("base_id", "name"),
)

# The text in parts: a database copies a value several times on its way in, and a text may be large.
document_part = sa.Table(
    "document_part",
    metadata,
    sa.Column("base_id", sa.Integer, primary_key=True),
    sa.Column("document_id", sa.String(64), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
    goes_with("document", base_id="base_id", document_id="id"),
)

# A cut is one way to divide documents and what is indexed beside the passages; builds share it.
# The passages of a large document have a segment of the cut: a row of their own, by which they
# appear and go at once, however long it takes to store and to delete them.
cut = sa.Table(
    "cut",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    base_id(),
    sa.Column("name", sa.String, nullable=False),
    # Of a segment: its cut, null where it is not complete or deleted; and its document.
    sa.Column("segment_of", sa.Integer),
    sa.Column("document_id", sa.String(64)),
    sa.UniqueConstraint("base_id", "name"),
    sa.Index(None, "segment_of"),
)

chunk = sa.Table(
    "chunk",
    metadata,
    sa.Column("cut_id", sa.Integer, sa.ForeignKey("cut.id", ondelete="CASCADE"), nullable=False),
    sa.Column("key", sa.BigInteger, nullable=False),
    base_id(),
    sa.Column("document_id", sa.String(64), nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer, nullable=False),
    sa.Column("order", sa.Integer, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("heading", sa.String, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    # What is indexed with the text and not shown; the hash is of both, as they are embedded.
    sa.Column("context", sa.Text, nullable=False, server_default=""),
    sa.Column("text_hash", sa.LargeBinary(16), nullable=False),
    sa.PrimaryKeyConstraint("cut_id", "key"),
    # No key of the document: its segments come before it, and go after it.
    sa.Index(None, "base_id", "document_id", "cut_id"),
    sa.Index(None, "text_hash"),
)

# Vectors by embedder and text, so that cutting or reading again embeds only text that is new.
# Not called as pgvector calls its type: PostgreSQL makes a type of each table's name too.
vector = sa.Table(
    "text_vector",
    metadata,
    sa.Column("embedder", sa.String, primary_key=True),
    sa.Column("text_hash", sa.LargeBinary(16), primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

build = sa.Table(
    "build",
    metadata,
    base_id(primary=True),
    sa.Column("hash", sa.String(12), primary_key=True),
    sa.Column("cut_id", sa.Integer, sa.ForeignKey("cut.id", ondelete="CASCADE"), nullable=False),
    sa.Column("recipe", sa.JSON, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
)

# Which documents a build holds, with all their passages. Written in the transaction that writes
# these. A document that ``waits`` lacks vectors: only lexical search finds it until then.
indexed = sa.Table(
    "indexed",
    metadata,
    sa.Column("base_id", sa.Integer, primary_key=True),
    sa.Column("build_hash", sa.String(12), primary_key=True),
    sa.Column("document_id", sa.String(64), primary_key=True),
    sa.Column("waits", sa.Boolean, nullable=False, default=False, server_default=sa.false()),
    goes_with("build", base_id="base_id", build_hash="hash"),
    goes_with("document", base_id="base_id", document_id="id"),
)

# The bytes of files where the database is on a server: other machines have no part in a folder.
file_part = sa.Table(
    "file_part",
    metadata,
    sa.Column("sha256", sa.String(64), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("data", sa.LargeBinary, nullable=False),
)

# Whose vectors are in which table of pgvector, by number (PostgreSQL only; see rag/stores).
vector_build = sa.Table(
    "vector_build",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False, unique=True),
    sa.Column("dimension", sa.Integer, nullable=False),
)

question_set = sa.Table(
    "question_set",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    base_id(),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("version", sa.Integer, nullable=False, default=1),
    # Which questions are for choosing recipes and which for reporting: decided by seed and share.
    sa.Column("split_seed", sa.Integer, nullable=False, default=0),
    sa.Column("split_share", sa.Float, nullable=False, default=0.5),
    sa.Column("changed", UtcDateTime, nullable=False),
    sa.Column("licence", sa.String, nullable=False, server_default=""),
    sa.UniqueConstraint("base_id", "name"),
)

# Questions and labels of a set as they were before others took their place.
question_set_version = sa.Table(
    "question_set_version",
    metadata,
    sa.Column(
        "set_id", sa.Integer, sa.ForeignKey("question_set.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("version", sa.Integer, primary_key=True),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("labels", sa.Integer, nullable=False),
    sa.Column("content", sa.JSON, nullable=False),
    sa.Column("replaced", UtcDateTime, nullable=False),
)

question = sa.Table(
    "question",
    metadata,
    sa.Column(
        "set_id", sa.Integer, sa.ForeignKey("question_set.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("answerable", sa.Boolean, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    # "proposed" by a generator until someone accepts or rejects it; only "accepted" ones count.
    sa.Column("state", sa.String, nullable=False, default="accepted"),
    sa.Column("origin", sa.String, nullable=False, default=""),
    sa.Column("leak", sa.Float),
    # What somebody said it rises and falls with: "" where nobody did, "-" for nothing.
    sa.Column("group", sa.String, nullable=False, default=""),
    # What a right answer says, "" where nobody wrote it down.
    sa.Column("answer", sa.Text, nullable=False, default="", server_default=""),
)

# Labels are spans of documents, never passages: they outlive every cut. They refer to a document
# by name too, and stay when it goes, so that a new version can be searched for the quote.
evidence = sa.Table(
    "evidence",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("set_id", sa.Integer, nullable=False),
    sa.Column("question_id", sa.String, nullable=False),
    sa.Column("document_id", sa.String(64)),
    sa.Column("document_name", sa.String, nullable=False),
    sa.Column("start", sa.Integer, nullable=False),
    sa.Column("end", sa.Integer),
    sa.Column("grade", sa.Integer, nullable=False),
    sa.Column("quote", sa.Text, nullable=False),
    sa.Column("page", sa.Integer),
    sa.Column("origin", sa.String, nullable=False, server_default=""),
    sa.Column("nugget", sa.String, nullable=False, server_default=""),
    # Null for labels from before dates were kept.
    sa.Column("created", UtcDateTime),
    goes_with("question", set_id="set_id", question_id="id"),
    sa.Index(None, "set_id", "question_id"),
    sa.Index(None, "document_id"),
    sa.Index(None, "document_name"),
)

run = sa.Table(
    "run",
    metadata,
    sa.Column("id", sa.String(12), primary_key=True),
    base_id(),
    sa.Column("question_set", sa.String, nullable=False),
    sa.Column("set_version", sa.Integer, nullable=False),
    # Of a system: "", null in JSON and "".
    sa.Column("recipe_hash", sa.String(12), nullable=False),
    sa.Column("recipe", sa.JSON, nullable=False),
    sa.Column("build_hash", sa.String(12), nullable=False),
    # In the place of a recipe: the system that was measured.
    sa.Column("system", sa.JSON(none_as_null=True)),
    sa.Column("base_version", sa.Integer, nullable=False),
    sa.Column("documents", sa.Integer, nullable=False),
    sa.Column("documents_hash", sa.String(64), nullable=False),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("metrics", sa.JSON, nullable=False),
    sa.Column("environment", sa.JSON, nullable=False),
    sa.Column("seconds", sa.Float, nullable=False),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    sa.Index(None, "base_id", "created"),
)

# The run that others of its question set are measured against.
baseline = sa.Table(
    "baseline",
    metadata,
    base_id(primary=True),
    sa.Column("question_set", sa.String, primary_key=True),
    sa.Column("run_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), nullable=False),
)

run_question = sa.Table(
    "run_question",
    metadata,
    sa.Column(
        "run_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("question_id", sa.String, primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("tags", sa.JSON, nullable=False),
    sa.Column("answerable", sa.Boolean, nullable=False),
    sa.Column("metrics", sa.JSON, nullable=False),
    sa.Column("ranking", sa.JSON, nullable=False),
    sa.Column("first_relevant", sa.Integer),
    sa.Column("found", sa.Integer, nullable=False),
    sa.Column("relevant", sa.Integer, nullable=False),
    sa.Column("cut_rank", sa.Integer),
)

# Texts that a system returned and no document contains, by their id in the rankings of the run.
foreign_text = sa.Table(
    "foreign_text",
    metadata,
    sa.Column(
        "run_id", sa.String(12), sa.ForeignKey("run.id", ondelete="CASCADE"), primary_key=True
    ),
    sa.Column("id", sa.String(24), primary_key=True),
    sa.Column("text", sa.Text, nullable=False),
)

# How relevance reads as a probability in a build, learned from the labels of a question set.
calibration = sa.Table(
    "calibration",
    metadata,
    sa.Column("base_id", sa.Integer, primary_key=True),
    sa.Column("build_hash", sa.String(12), primary_key=True),
    sa.Column("question_set", sa.String, nullable=False),
    sa.Column("set_version", sa.Integer, nullable=False),
    sa.Column("questions", sa.Integer, nullable=False),
    sa.Column("model", sa.JSON, nullable=False),
    sa.Column("quality", sa.JSON, nullable=False),
    # What "auto" means with this calibration.
    sa.Column("threshold", sa.Float),
    sa.Column("created", UtcDateTime, nullable=False),
    goes_with("build", base_id="base_id", build_hash="hash"),
)

job = sa.Table(
    "job",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True),
    base_id(),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("title", sa.String, nullable=False),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("done", sa.Integer, nullable=False, default=0),
    sa.Column("total", sa.Integer, nullable=False, default=0),
    sa.Column("message", sa.String, nullable=False, default=""),
    sa.Column("seconds_left", sa.Float),
    # What came of it, for those who asked: written in the transaction that ends the job.
    sa.Column("result", sa.JSON(none_as_null=True)),
    sa.Column("cancel", sa.Boolean, nullable=False, default=False),
    # The worker of the job renews the lease; when it runs out, another process resumes.
    sa.Column("owner", sa.String),
    sa.Column("lease", sa.Float),
    # Owners that died since an item was last done: what kills its process is not tried for ever.
    sa.Column("deaths", sa.Integer, nullable=False, default=0, server_default="0"),
    # When it last went back to the queue, unfinished, for a job of another base.
    sa.Column("gave_way", UtcDateTime),
    sa.Column("created", UtcDateTime, nullable=False),
    sa.Column("finished", UtcDateTime),
    sa.Index(None, "status"),
)

job_item = sa.Table(
    "job_item",
    metadata,
    sa.Column("job_id", sa.Integer, sa.ForeignKey("job.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("name", sa.String, nullable=False),
    sa.Column("payload", sa.JSON, nullable=False),
    sa.Column("status", sa.String, nullable=False),
    sa.Column("reason", sa.Text, nullable=False, default=""),
    sa.Column("hint", sa.Text, nullable=False, default=""),
    sa.Column("chunks", sa.Integer, nullable=False, default=0),
)
