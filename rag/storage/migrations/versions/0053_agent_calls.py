"""Calls of tools by agents, and what a token may spend on them."""

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "agent_call",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("token_id", sa.String(12), server_default="", nullable=False),
        sa.Column("agent", sa.String(), nullable=False),
        sa.Column("base_id", sa.Integer()),
        sa.Column("tool", sa.String(), nullable=False),
        sa.Column("arguments", sa.JSON(), nullable=False),
        sa.Column("reason", sa.String(), server_default="", nullable=False),
        sa.Column("outcome", sa.String(), server_default="", nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("money", sa.Float(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name="fk_agent_call_base_id",
            ondelete="SET NULL",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_agent_call"),
    )
    op.create_index("ix_agent_call_base_id_at", "agent_call", ["base_id", "at"])
    op.create_index("ix_agent_call_token_id", "agent_call", ["token_id"])
    with op.batch_alter_table("api_token") as batch:
        batch.add_column(sa.Column("budget", sa.JSON(), server_default="{}", nullable=False))
