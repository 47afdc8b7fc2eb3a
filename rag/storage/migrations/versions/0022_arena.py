"""Questions that two recipes answered side by side, and which answer was preferred."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "bout",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("visitor", sa.String(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("left", sa.JSON(), nullable=False),
        sa.Column("right", sa.JSON(), nullable=False),
        sa.Column("vote", sa.String(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"], ["knowledge_base.id"], name="fk_bout_base_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name="pk_bout"),
    )
    op.create_index("ix_bout_base_id_visitor", "bout", ["base_id", "visitor"])
