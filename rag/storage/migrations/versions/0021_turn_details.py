"""Details of answers: decisions, budget, wording of the prompt."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("turn", sa.Column("details", sa.JSON(), nullable=False, server_default="{}"))
