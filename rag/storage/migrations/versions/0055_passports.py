"""Dates of labels, and licences of question sets."""

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("evidence") as table:
        table.add_column(sa.Column("created", sa.DateTime(timezone=True)))
    with op.batch_alter_table("question_set") as table:
        table.add_column(sa.Column("licence", sa.String(), server_default="", nullable=False))
