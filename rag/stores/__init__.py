"""Vector indexes in FAISS, and views of vectors and words that are on a server."""

from __future__ import annotations

from rag.errors import InvalidRecipe
from rag.protocols import VectorIndex
from rag.stores.served_vectors import ServedVectors
from rag.stores.served_words import ServedWords

__all__ = ["KINDS", "ServedVectors", "ServedWords", "empty", "load"]

KINDS = ("flat", "hnsw", "ivf")


def empty(kind: str, dimension: int) -> VectorIndex:
    """An empty index for vectors of ``dimension``. Raises InvalidRecipe for an unknown kind."""
    _check(kind)
    from rag.stores.faiss import FaissIndex

    return FaissIndex(kind, dimension)


def load(kind: str, folder: str) -> VectorIndex:
    """What ``VectorIndex.save`` wrote. Raises OSError or ValueError: missing, damaged, other kind.

    Raises InvalidRecipe for an unknown kind.
    """
    _check(kind)
    from rag.stores.faiss import FaissIndex

    return FaissIndex.load(kind, folder)


def _check(kind: str) -> None:
    if kind not in KINDS:
        raise InvalidRecipe(
            f"No vector index is called {kind!r}.", "Choose one of: " + ", ".join(KINDS)
        )
