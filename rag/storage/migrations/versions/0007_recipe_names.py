"""Names that people give to recipes."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "recipe_name",
        sa.Column("base_id", sa.Integer(), nullable=False),
        sa.Column("hash", sa.String(length=12), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(
            ["base_id"],
            ["knowledge_base.id"],
            name=op.f("fk_recipe_name_base_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("base_id", "hash", name=op.f("pk_recipe_name")),
    )
