"""Conversations of visitors with names and settings; turns in branches, with what was thought."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "conversation", sa.Column("visitor", sa.String(), nullable=False, server_default="")
    )
    op.add_column("conversation", sa.Column("name", sa.String(), nullable=False, server_default=""))
    op.add_column("conversation", sa.Column("settings", sa.JSON()))
    op.add_column("conversation", sa.Column("head", sa.Integer()))
    op.create_index("ix_conversation_base_id_visitor", "conversation", ["base_id", "visitor"])
    op.add_column("turn", sa.Column("parent", sa.Integer()))
    for name, kind in (("reason", sa.String()), ("correction", sa.Text()), ("review", sa.String())):
        op.add_column("turn", sa.Column(name, kind, nullable=False, server_default=""))
    op.add_column("turn", sa.Column("clicks", sa.Integer(), nullable=False, server_default="0"))
    # Until now each turn came after the one before it.
    op.execute(
        "UPDATE turn SET parent = (SELECT max(earlier.id) FROM turn AS earlier "
        "WHERE earlier.conversation_id = turn.conversation_id AND earlier.id < turn.id)"
    )
