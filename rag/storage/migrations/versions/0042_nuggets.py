"""The part of the answer that a label has."""

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("evidence") as batch:
        batch.add_column(sa.Column("nugget", sa.String(), nullable=False, server_default=""))
    # Files with judgments could bring grades below 0, which meant no more than 0.
    op.execute("UPDATE evidence SET grade = 0 WHERE grade < 0")
