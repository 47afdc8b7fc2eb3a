"""A turn keeps the checks of its sentences, and a question the answer that is expected."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turn", sa.Column("sentences", sa.JSON(), nullable=False, server_default="[]"))
    op.add_column("question", sa.Column("answer", sa.Text(), nullable=False, server_default=""))
