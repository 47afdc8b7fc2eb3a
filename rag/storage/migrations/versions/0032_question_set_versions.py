"""Questions and labels of sets as they were before others took their place."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "question_set_version",
        sa.Column("set_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("questions", sa.Integer(), nullable=False),
        sa.Column("labels", sa.Integer(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("replaced", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["set_id"],
            ["question_set.id"],
            name="fk_question_set_version_set_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("set_id", "version", name="pk_question_set_version"),
    )
