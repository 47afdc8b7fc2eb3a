"""Touchstone: retrieval over your documents, with evidence.

>>> from rag import Workspace
>>> workspace = Workspace.from_env()
>>> base = workspace.base("sample")
>>> trace = base.search("How long may unused leave be carried over?", base.recipe())

The public names stand in ``__init__.pyi``. Each is imported when it is first used: the reading
child process and the command line would otherwise load the database and the models to do without.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
