"""Tokens of the API, and what requests with an idempotency key were answered."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "api_token",
        sa.Column("id", sa.String(12), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("owner", sa.String(), nullable=False, server_default=""),
        sa.Column("created", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True)),
        sa.Column("used", sa.DateTime(timezone=True)),
        sa.Column("revoked", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", name="pk_api_token"),
        sa.UniqueConstraint("digest", name="uq_api_token_digest"),
    )
    op.create_table(
        "api_reply",
        sa.Column("token_id", sa.String(12), nullable=False),
        sa.Column("key", sa.String(255), nullable=False),
        sa.Column("asked", sa.String(64), nullable=False),
        sa.Column("status", sa.Integer()),
        sa.Column("body", sa.JSON()),
        sa.Column("location", sa.String(), nullable=False, server_default=""),
        sa.Column("created", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("token_id", "key", name="pk_api_reply"),
        sa.ForeignKeyConstraint(
            ["token_id"],
            ["api_token.id"],
            name="fk_api_reply_token_id_api_token",
            ondelete="CASCADE",
        ),
    )
