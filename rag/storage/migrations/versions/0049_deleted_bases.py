"""A mark on knowledge bases that are deleted, and whose rows go in portions."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    column = sa.Column("deleted", sa.Boolean, nullable=False, server_default=sa.false())
    op.add_column("knowledge_base", column)  # made anew, the table would take all rows with it
