"""The first schema, where migrations start; no database is made by it any more (see env.py)."""

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
