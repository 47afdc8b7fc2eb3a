"""Trials on a question set, so that verdicts can account for them."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "look",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("question_set", sa.String(), nullable=False),
        sa.Column("family", sa.String(), nullable=False),
        sa.Column("look", sa.String(64), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("alternatives", sa.Integer(), nullable=False),
        sa.Column("recipes", sa.JSON(), nullable=False),
        sa.Column("split_seed", sa.Integer(), nullable=True),
        sa.Column("split_share", sa.Float(), nullable=True),
        sa.Column("first", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name="fk_look_base_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name="pk_look"),
        sa.UniqueConstraint(
            "base_id",
            "question_set",
            "family",
            "look",
            name="uq_look_base_id_question_set_family_look",
        ),
    )
