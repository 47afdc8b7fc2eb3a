"""Files of jobs that earlier versions never released, such as imported questions.

Each is noted as released: the next start deletes it where nothing refers to it.
"""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_KEYS = ("file", "fetched")


def upgrade() -> None:
    job, item = (sa.table(name, sa.column("payload", sa.JSON)) for name in ("job", "job_item"))
    lease = sa.table("lease", *map(sa.column, ("subject", "holder", "until")))
    document = sa.table("document", sa.column("id"))
    brought = sa.union(
        sa.select(job.c.payload["questions"]["file"].as_string().label("name")),
        *(sa.select(item.c.payload[key].as_string()) for key in _KEYS),
    ).subquery()
    unused = sa.select(brought.c.name).where(
        brought.c.name.is_not(None), brought.c.name.not_in(sa.select(document.c.id))
    )
    rows = [
        {"subject": name, "holder": f"migration {revision}", "until": 0.0}
        for name in op.get_bind().execute(unused).scalars()
    ]
    op.bulk_insert(lease, rows)
