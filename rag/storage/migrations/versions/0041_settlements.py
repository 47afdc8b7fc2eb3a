"""Findings of an examination that people settled."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "settlement",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("finding", sa.String(16), nullable=False),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("document", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("settled", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_settlement_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "finding", name=op.f("pk_settlement")),
    )
