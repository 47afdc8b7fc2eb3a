"""The schema of version 0.1.0, where migrations start; no database is made by it (see env.py)."""

revision = "0046"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    pass
