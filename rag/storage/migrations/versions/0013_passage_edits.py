"""Decisions of people about passages, and when the passages of a document last changed."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("document", sa.Column("recut", sa.Integer(), nullable=False, server_default="0"))
    op.create_table(
        "passage_edit",
        sa.Column("id", sa.Integer(), primary_key=True),
        sa.Column(
            "base_id",
            sa.Integer(),
            sa.ForeignKey("knowledge_base.id", ondelete="CASCADE"),
            nullable=False,
        ),
        sa.Column("document_id", sa.String(64), nullable=False),
        sa.Column("document_name", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False, server_default=""),
    )
    op.create_index(
        "ix_passage_edit_base_id_document_id", "passage_edit", ["base_id", "document_id"]
    )
