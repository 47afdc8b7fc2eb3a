"""Vector stores behind one protocol, ``rag.protocols.VectorStore``."""

from __future__ import annotations

from rag.errors import InvalidRecipe
from rag.protocols import VectorStore

KINDS = ("flat", "hnsw", "ivf")


def store(kind: str, dimension: int) -> VectorStore:
    """An empty store for vectors of ``dimension``. Raises InvalidRecipe for an unknown kind."""
    _check(kind)
    from rag.stores.faiss import FaissStore

    return FaissStore(kind, dimension)


def load(kind: str, folder: str) -> VectorStore:
    """What ``VectorStore.save`` wrote. Raises OSError or ValueError: missing, damaged, other kind.

    Raises InvalidRecipe for an unknown kind.
    """
    _check(kind)
    from rag.stores.faiss import FaissStore

    return FaissStore.load(kind, folder)


def _check(kind: str) -> None:
    if kind not in KINDS:
        raise InvalidRecipe(
            f"No vector index is called {kind!r}.", "Choose one of: " + ", ".join(KINDS)
        )
