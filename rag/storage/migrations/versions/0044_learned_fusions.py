"""Fusions that were learned from labels."""

import sqlalchemy as sa
from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "learned_fusion",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(12), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("question_set", sa.String(), nullable=False),
        sa.Column("set_version", sa.Integer(), nullable=False),
        sa.Column("questions", sa.Integer(), nullable=False),
        sa.Column("model", sa.JSON(), nullable=False),
        sa.Column("learned_with", sa.JSON(), nullable=False),
        sa.Column("passports", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_learned_fusion_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "hash", name=op.f("pk_learned_fusion")),
    )
