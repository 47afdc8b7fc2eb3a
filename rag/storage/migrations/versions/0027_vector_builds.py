"""Builds whose vectors are in a table of pgvector, whose type needs the name of a table."""

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.rename_table("vector", "text_vector")
    op.create_table(
        "vector_build",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_vector_build"),
        sa.UniqueConstraint("name", name="uq_vector_build_name"),
    )
