"""Links that show one tour."""

import sqlalchemy as sa
from alembic import op

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("share_link") as batch:
        batch.add_column(sa.Column("tour_id", sa.Integer()))
