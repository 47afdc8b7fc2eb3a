"""The documents of a knowledge base: one part, with one module for each purpose."""

from __future__ import annotations

from rag.library.documents.additions import Additions, LockedFiles
from rag.library.documents.passage_edits import PassageEdits
from rag.library.documents.reading_again import ReadingAgain
from rag.library.documents.stores.imports import StoreImports


class Documents(LockedFiles, Additions, PassageEdits, ReadingAgain, StoreImports):
    """The documents of one knowledge base, and what is done to them."""
