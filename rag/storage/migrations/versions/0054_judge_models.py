"""The model versions that judges answered with."""

import sqlalchemy as sa
from alembic import op

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("judgement") as table:
        table.add_column(sa.Column("model", sa.String(), server_default="", nullable=False))
