"""Costs of answers and judgements, and the preferences of judges between two answers."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("run_answer") as table:
        table.add_column(sa.Column("examples", sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("cost", sa.Float(), nullable=True))
        table.add_column(sa.Column("currency", sa.String(8), nullable=False, server_default=""))
        table.add_column(
            sa.Column("judge_tokens", sa.Integer(), nullable=False, server_default="0")
        )
        table.add_column(sa.Column("judge_cost", sa.Float(), nullable=True))
    with op.batch_alter_table("judgement") as table:
        table.add_column(sa.Column("cost", sa.Float(), nullable=True))
        table.add_column(sa.Column("currency", sa.String(8), nullable=False, server_default=""))
    op.create_table(
        "preference",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(12), nullable=False),
        sa.Column("other_id", sa.String(12), nullable=False),
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("judge", sa.String(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("rubric", sa.String(), nullable=False),
        sa.Column("vote", sa.Float(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=True),
        sa.Column("currency", sa.String(8), nullable=False, server_default=""),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["other_id"], ["run.id"], ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("run_id", "other_id", "question_id", "judge", "rubric"),
    )
    op.create_index("ix_preference_other_id", "preference", ["other_id"])
