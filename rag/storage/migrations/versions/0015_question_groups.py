"""The group that a question was said to belong to."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("question", sa.Column("group", sa.String(), nullable=False, server_default=""))
