"""Segments of large documents: passages are stored before their document, and deleted after it.

SQLite has no statement that drops a foreign key. As rows do not change by it, the text of the
schema is changed, which https://www.sqlite.org/lang_altertable.html#otheralter describes: to copy
the largest table could take minutes, and would need its room once more.
"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

_KEY = "fk_chunk_base_id_document_id"


def upgrade() -> None:
    op.add_column("cut", sa.Column("segment_of", sa.Integer()))
    op.add_column("cut", sa.Column("document_id", sa.String(64)))
    op.create_index("ix_cut_segment_of", "cut", ["segment_of"])
    connection = op.get_bind()
    if connection.dialect.name != "sqlite":
        op.drop_constraint(_KEY, "chunk", type_="foreignkey")
        return
    where = "FROM sqlite_schema WHERE type = 'table' AND name = 'chunk'"
    schema = str(connection.exec_driver_sql(f"SELECT sql {where}").scalar_one())
    before, key, behind = schema.partition(f"CONSTRAINT {_KEY} FOREIGN KEY")
    _, cascade, behind = behind.partition(" ON DELETE CASCADE")
    assert key, schema
    assert cascade, schema
    without = before + behind.lstrip(",")
    without = without.rstrip().removesuffix(")").rstrip().removesuffix(",") + "\n)"
    version = connection.exec_driver_sql("PRAGMA schema_version").scalar_one()
    connection.exec_driver_sql("PRAGMA writable_schema = ON")
    connection.exec_driver_sql(
        "UPDATE sqlite_schema SET sql = ? WHERE type = 'table' AND name = 'chunk'", (without,)
    )
    connection.exec_driver_sql(f"PRAGMA schema_version = {version + 1}")
    connection.exec_driver_sql("PRAGMA writable_schema = RESET")
