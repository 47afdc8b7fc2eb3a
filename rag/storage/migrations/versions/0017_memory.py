"""Memory of turns, with the counts and times of each."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turn", sa.Column("metrics", sa.JSON(), nullable=False, server_default="{}"))
    op.add_column("turn", sa.Column("examples", sa.JSON(), nullable=False, server_default="[]"))
    op.create_table(
        "interaction",
        sa.Column("turn_id", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("follow_up", sa.Boolean(), nullable=False),
        sa.Column("sources", sa.JSON(), nullable=False),
        sa.Column("corrected", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("turn_id", name="pk_interaction"),
        sa.ForeignKeyConstraint(
            ["turn_id"], ["turn.id"], name="fk_interaction_turn_id", ondelete="CASCADE"
        ),
    )
    op.create_table(
        "interaction_vector",
        sa.Column("turn_id", sa.Integer(), nullable=False),
        sa.Column("embedder", sa.String(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("turn_id", "embedder", name="pk_interaction_vector"),
        sa.ForeignKeyConstraint(
            ["turn_id"],
            ["interaction.turn_id"],
            name="fk_interaction_vector_turn_id",
            ondelete="CASCADE",
        ),
    )
