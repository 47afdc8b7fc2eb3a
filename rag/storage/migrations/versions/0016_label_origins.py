"""Origins of labels: a person, a file, hits of runs, or a random sample of these."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("evidence", sa.Column("origin", sa.String(), nullable=False, server_default=""))
