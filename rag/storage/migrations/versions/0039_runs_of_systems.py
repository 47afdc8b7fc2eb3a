"""Runs that measured a system instead of a recipe, with the texts that no document contains."""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("run") as table:
        table.add_column(sa.Column("system", sa.JSON, nullable=True))
    op.create_table(
        "foreign_text",
        sa.Column("run_id", sa.String(12), nullable=False),
        sa.Column("id", sa.String(24), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.ForeignKeyConstraint(
            ["run_id"], ["run.id"], name=op.f("fk_foreign_text_run_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("run_id", "id", name=op.f("pk_foreign_text")),
    )
