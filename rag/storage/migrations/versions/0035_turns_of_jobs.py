"""Time at which a job last gave way to a job of another knowledge base."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("job") as table:
        table.add_column(sa.Column("gave_way", sa.DateTime(timezone=True)))
