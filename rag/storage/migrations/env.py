"""Alembic's entry: runs the migrations on the connection that ``Database`` hands over.

A new database is made from the tables as they are now, and marked as up to date: the schema is
written down once. Migrations bring the databases of earlier versions there.
"""

from alembic import context
from sqlalchemy import inspect

from rag.storage.every_table import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    if not inspect(connection).has_table("alembic_version"):
        metadata.create_all(connection)
        context.get_context().stamp(context.script, "head")
    context.run_migrations()
