"""Sign-ins of browsers, so that a sign-out ends one for all tabs."""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sign_in",
        sa.Column("key", sa.String(64), nullable=False),
        sa.Column("person_id", sa.String(12), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(
            ["person_id"], ["person.id"], name="fk_sign_in_person_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key", name="pk_sign_in"),
    )
