"""Retrievals of other systems as they were received."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "received_span",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("trace", sa.String(32), nullable=False),
        sa.Column("span", sa.String(16), nullable=False),
        sa.Column("system", sa.String(), nullable=False),
        sa.Column("started", sa.BigInteger(), nullable=False),
        sa.Column("received", sa.DateTime(timezone=True), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("items", sa.JSON(), nullable=True),
        sa.Column("results", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_received_span_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "trace", "span", name=op.f("pk_received_span")),
    )
    op.create_index("ix_received_span_received", "received_span", ["base_id", "received"])
    op.create_index("ix_received_span_system", "received_span", ["base_id", "system", "started"])
