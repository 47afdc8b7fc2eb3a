"""Ranks of relevant passages that the threshold of a run cut."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("run_question") as table:
        table.add_column(sa.Column("cut_rank", sa.Integer))
