"""A turn keeps the complete question that was made of a follow-up."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("turn") as table:
        table.add_column(sa.Column("rewritten", sa.Text(), server_default="", nullable=False))
