"""Facts about language models that were learned by asking them."""

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "language_model",
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("address", sa.String(), nullable=False),
        sa.Column("read_tokens", sa.Integer()),
        sa.Column("sent_tokens", sa.Integer()),
        sa.Column("cut", sa.DateTime(timezone=True)),
        sa.Column("evidence", sa.String()),
        sa.Column("evidence_reason", sa.String()),
        sa.PrimaryKeyConstraint("provider", "model", "address", name="pk_language_model"),
    )
