"""Alembic's entry: runs the migrations on the connection that ``Database`` hands over.

A new database is made from the tables as they are now, and marked as up to date: the schema is
written down once. Migrations bring the databases of earlier versions there.
"""

from alembic import context
from sqlalchemy import inspect

from rag.storage.access.replies import api_reply
from rag.storage.access.tokens import api_token
from rag.storage.conversations.prompt_texts import prompt_text
from rag.storage.conversations.tables import turn
from rag.storage.leases import lease
from rag.storage.passage_edits import passage_edit
from rag.storage.quality.tables import judgement
from rag.storage.recipe_names import recipe_name
from rag.storage.tools import tool

# Tables of modules of their own count too.
for table in (api_reply, api_token, judgement, passage_edit, prompt_text, recipe_name, tool, turn):
    assert table.metadata is lease.metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=lease.metadata, render_as_batch=True)
with context.begin_transaction():
    if not inspect(connection).has_table("alembic_version"):
        lease.metadata.create_all(connection)
        context.get_context().stamp(context.script, "head")
    context.run_migrations()
