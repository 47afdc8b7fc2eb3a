"""Number of owners of a job that died, so that no job kills processes for ever."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("job") as table:
        table.add_column(sa.Column("deaths", sa.Integer, nullable=False, server_default="0"))
