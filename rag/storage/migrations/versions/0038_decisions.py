"""Decisions between two runs, with the hits to judge as they were drawn."""

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "decision",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(12), nullable=False),
        sa.Column("other_id", sa.String(12), nullable=False),
        sa.Column("metric", sa.String(), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("questions", sa.Integer(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_decision_base_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_decision_run_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["other_id"], ["run.id"], name=op.f("fk_decision_other_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_decision")),
        sa.UniqueConstraint(
            "run_id", "other_id", "metric", name=op.f("uq_decision_run_id_other_id_metric")
        ),
    )
    op.create_table(
        "decision_hit",
        sa.Column("decision_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("question_id", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("document_id", sa.String(64), nullable=False),
        sa.Column("start", sa.Integer(), nullable=False),
        sa.Column("end", sa.Integer(), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=True),
        sa.Column("other_rank", sa.Integer(), nullable=True),
        sa.Column("weight", sa.Float(), nullable=False),
        sa.Column("chance", sa.Float(), nullable=False),
        sa.Column("size", sa.Float(), nullable=False),
        sa.Column("probability", sa.Float(), nullable=False),
        sa.Column("labelled", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["decision_id"],
            ["decision.id"],
            name=op.f("fk_decision_hit_decision_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("decision_id", "position", name=op.f("pk_decision_hit")),
    )
