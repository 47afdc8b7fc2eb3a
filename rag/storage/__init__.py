"""The database: tables, migrations, and one module of queries per kind of thing.

Queries take a connection, so that a caller composes several of them into one transaction.
``Database.fetch`` and ``Database.execute`` run one alone.
"""

from sqlalchemy import Connection

from rag.storage.database import Database
from rag.storage.shared.database_errors import patient

__all__ = ["Connection", "Database", "patient"]
