"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "knowledge_base",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_knowledge_base")),
        sa.UniqueConstraint("name", name=op.f("uq_knowledge_base_name")),
    )
    op.create_table(
        "vector",
        sa.Column("embedder", sa.String(), nullable=False),
        sa.Column("text_hash", sa.LargeBinary(length=16), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("embedder", "text_hash", name=op.f("pk_vector")),
    )
    op.create_table(
        "conversation",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_conversation_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation")),
    )
    op.create_table(
        "cut",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_cut_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_cut")),
        sa.UniqueConstraint("base_id", "name", name=op.f("uq_cut_base_id_name")),
    )
    op.create_table(
        "document",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(length=64), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("source", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("pages", sa.JSON(), nullable=False),
        sa.Column("headings", sa.JSON(), nullable=False),
        sa.Column("metadata", sa.JSON(), nullable=False),
        sa.Column("characters", sa.Integer(), nullable=False),
        sa.Column("added", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_document_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("base_id", "id", name=op.f("pk_document")),
        sa.UniqueConstraint("base_id", "name", name=op.f("uq_document_base_id_name")),
    )
    op.create_table(
        "job",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("done", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False),
        sa.Column("message", sa.String(), nullable=False),
        sa.Column("cancel", sa.Boolean(), nullable=False),
        sa.Column("owner", sa.String(), nullable=True),
        sa.Column("lease", sa.Float(), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_job_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
    )
    op.create_index(op.f("ix_job_status"), "job", ["status"], unique=False)
    op.create_table(
        "question_set",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("split_seed", sa.Integer(), nullable=False),
        sa.Column("split_share", sa.Float(), nullable=False),
        sa.Column("changed", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_question_set_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_question_set")),
        sa.UniqueConstraint("base_id", "name", name=op.f("uq_question_set_base_id_name")),
    )
    op.create_table(
        "recipe_version",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=12), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("saved", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_recipe_version_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "hash", name=op.f("pk_recipe_version")),
    )
    op.create_table(
        "run",
        sa.Column("id", sa.String(length=12), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("question_set", sa.String(), nullable=False),
        sa.Column("set_version", sa.Integer(), nullable=False),
        sa.Column("recipe_hash", sa.String(length=12), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("build_hash", sa.String(length=12), nullable=False),
        sa.Column("base_version", sa.Integer(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("documents_hash", sa.String(length=64), nullable=False),
        sa.Column("questions", sa.Integer(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("environment", sa.JSON(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_run_base_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run")),
    )
    op.create_index(op.f("ix_run_base_id_created"), "run", ["base_id", "created"], unique=False)
    op.create_table(
        "baseline",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("question_set", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(length=12), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_baseline_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_baseline_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("base_id", "question_set", name=op.f("pk_baseline")),
    )
    op.create_table(
        "build",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=12), nullable=False),
        sa.Column("cut_id", sa.Integer(), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_build_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["cut_id"], ["cut.id"], name=op.f("fk_build_cut_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("base_id", "hash", name=op.f("pk_build")),
    )
    op.create_table(
        "chunk",
        sa.Column("cut_id", sa.Integer(), nullable=False),
        sa.Column("key", sa.BigInteger(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.String(length=64), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("order", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("heading", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_hash", sa.LargeBinary(length=16), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id", "document_id"],
            ["document.base_id", "document.id"],
            name=op.f("fk_chunk_base_id_document_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name=op.f("fk_chunk_base_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["cut_id"], ["cut.id"], name=op.f("fk_chunk_cut_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("cut_id", "key", name=op.f("pk_chunk")),
    )
    op.create_index(
        op.f("ix_chunk_base_id_document_id_cut_id"),
        "chunk",
        ["base_id", "document_id", "cut_id"],
        unique=False,
    )
    op.create_index(op.f("ix_chunk_text_hash"), "chunk", ["text_hash"], unique=False)
    op.create_table(
        "document_part",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("document_id", sa.String(length=64), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id", "document_id"],
            ["document.base_id", "document.id"],
            name=op.f("fk_document_part_base_id_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "base_id", "document_id", "position", name=op.f("pk_document_part")
        ),
    )
    op.create_table(
        "job_item",
        sa.Column("job_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["job_id"], ["job.id"], name=op.f("fk_job_item_job_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job_id", "position", name=op.f("pk_job_item")),
    )
    op.create_table(
        "question",
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("answerable", sa.Boolean(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("leak", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["set_id"], ["question_set.id"], name=op.f("fk_question_set_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("set_id", "id", name=op.f("pk_question")),
    )
    op.create_table(
        "run_question",
        sa.Column("run_id", sa.String(length=12), nullable=False),
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("tags", sa.JSON(), nullable=False),
        sa.Column("answerable", sa.Boolean(), nullable=False),
        sa.Column("metrics", sa.JSON(), nullable=False),
        sa.Column("ranking", sa.JSON(), nullable=False),
        sa.Column("first_relevant", sa.Integer(), nullable=True),
        sa.Column("found", sa.Integer(), nullable=False),
        sa.Column("relevant", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_run_question_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "question_id", name=op.f("pk_run_question")),
    )
    op.create_table(
        "turn",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("conversation_id", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("recipe", sa.JSON(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.Column("citations", sa.JSON(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("passages", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("thumb", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversation.id"],
            name=op.f("fk_turn_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_turn")),
    )
    op.create_index(op.f("ix_turn_conversation_id"), "turn", ["conversation_id"], unique=False)
    op.create_table(
        "calibration",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("build_hash", sa.String(length=12), nullable=False),
        sa.Column("question_set", sa.String(), nullable=False),
        sa.Column("set_version", sa.Integer(), nullable=False),
        sa.Column("questions", sa.Integer(), nullable=False),
        sa.Column("model", sa.JSON(), nullable=False),
        sa.Column("quality", sa.JSON(), nullable=False),
        sa.Column("threshold", sa.Float(), nullable=True),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id", "build_hash"],
            ["build.base_id", "build.hash"],
            name=op.f("fk_calibration_base_id_build_hash"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "build_hash", name=op.f("pk_calibration")),
    )
    op.create_table(
        "evidence",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("document_id", sa.String(length=64), nullable=True),
        sa.Column("document_name", sa.String(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=True),
        sa.Column("grade", sa.Integer(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["set_id", "question_id"],
            ["question.set_id", "question.id"],
            name=op.f("fk_evidence_set_id_question_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
    )
    op.create_index(op.f("ix_evidence_document_id"), "evidence", ["document_id"], unique=False)
    op.create_index(op.f("ix_evidence_document_name"), "evidence", ["document_name"], unique=False)
    op.create_index(
        op.f("ix_evidence_set_id_question_id"), "evidence", ["set_id", "question_id"], unique=False
    )
    op.create_table(
        "indexed",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("build_hash", sa.String(length=12), nullable=False),
        sa.Column("document_id", sa.String(length=64), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id", "build_hash"],
            ["build.base_id", "build.hash"],
            name=op.f("fk_indexed_base_id_build_hash"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["base_id", "document_id"],
            ["document.base_id", "document.id"],
            name=op.f("fk_indexed_base_id_document_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "build_hash", "document_id", name=op.f("pk_indexed")),
    )


def downgrade() -> None:
    op.drop_table("indexed")
    op.drop_index(op.f("ix_evidence_set_id_question_id"), table_name="evidence")
    op.drop_index(op.f("ix_evidence_document_name"), table_name="evidence")
    op.drop_index(op.f("ix_evidence_document_id"), table_name="evidence")
    op.drop_table("evidence")
    op.drop_table("calibration")
    op.drop_index(op.f("ix_turn_conversation_id"), table_name="turn")
    op.drop_table("turn")
    op.drop_table("run_question")
    op.drop_table("question")
    op.drop_table("job_item")
    op.drop_table("document_part")
    op.drop_index(op.f("ix_chunk_text_hash"), table_name="chunk")
    op.drop_index(op.f("ix_chunk_base_id_document_id_cut_id"), table_name="chunk")
    op.drop_table("chunk")
    op.drop_table("build")
    op.drop_table("baseline")
    op.drop_index(op.f("ix_run_base_id_created"), table_name="run")
    op.drop_table("run")
    op.drop_table("recipe_version")
    op.drop_table("question_set")
    op.drop_index(op.f("ix_job_status"), table_name="job")
    op.drop_table("job")
    op.drop_table("document")
    op.drop_table("cut")
    op.drop_table("conversation")
    op.drop_table("vector")
    op.drop_table("knowledge_base")
