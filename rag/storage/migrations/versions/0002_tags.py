"""Documents have tags."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("document") as table:
        table.add_column(sa.Column("tags", sa.JSON(), server_default="[]", nullable=False))
