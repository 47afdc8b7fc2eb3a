"""Looks of the drift watch."""

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "watch_look",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_reference", sa.Boolean(), nullable=False),
        sa.Column("report", sa.JSON(), nullable=False),
        sa.Column("state", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["set_id"],
            ["question_set.id"],
            name=op.f("fk_watch_look_set_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watch_look")),
    )
    with op.batch_alter_table("watch_look") as batch:
        batch.create_index(op.f("ix_watch_look_set_id_created"), ["set_id", "created"])
