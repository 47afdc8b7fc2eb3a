"""Documents that are found by words until their vectors are in."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "indexed", sa.Column("waits", sa.Boolean(), nullable=False, server_default=sa.false())
    )
