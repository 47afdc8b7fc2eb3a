"""HTTP tools, and the knowledge bases that a turn was asked of too."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tool",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("definition", sa.JSON(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_tool")),
    )
    with op.batch_alter_table("turn") as table:
        table.add_column(sa.Column("also", sa.JSON(), server_default="[]", nullable=False))
