"""Tables of a document, and the version of the reader that made its text."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("document", sa.Column("tables", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column(
        "document", sa.Column("reader_version", sa.Integer(), nullable=False, server_default="0")
    )
