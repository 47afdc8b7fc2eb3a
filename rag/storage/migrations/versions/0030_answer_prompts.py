"""In which wording of its prompts an answer of a run was asked."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("run_answer") as table:
        table.add_column(
            sa.Column("prompt_version", sa.String(), nullable=False, server_default="")
        )
