"""Text that is indexed with a passage besides its own."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("chunk", sa.Column("context", sa.Text(), nullable=False, server_default=""))
