"""The probabilities that decision models state as judges."""

import sqlalchemy as sa
from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("judgement") as table:
        table.add_column(sa.Column("stated", sa.Float()))
