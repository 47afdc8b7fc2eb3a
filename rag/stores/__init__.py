"""Vector indexes in FAISS, and views of vectors and words that are on a server."""

from __future__ import annotations

from urllib.parse import parse_qsl, urldefrag

from rag.errors import InvalidInput, InvalidRecipe
from rag.protocols import VectorIndex, VectorServer
from rag.stores.remote_vector_index import RemoteVectorIndex as RemoteVectorIndex

KINDS = ("flat", "hnsw", "ivf")
_FORMS = (
    "Write qdrant+http://host:6333, pgvector or process, or leave it out: the database has all "
    "vectors."
)


def empty(kind: str, dimension: int) -> VectorIndex:
    """An empty index for vectors of ``dimension``. Raises InvalidRecipe for an unknown kind."""
    _check(kind)
    from rag.stores.faiss import FaissIndex

    return FaissIndex(kind, dimension)


def load(kind: str, folder: str) -> VectorIndex:
    """Load an index that ``VectorIndex.save`` wrote.

    Raises OSError or ValueError if it is missing, damaged or of another kind, InvalidRecipe for an
    unknown kind.
    """
    _check(kind)
    from rag.stores.faiss import FaissIndex

    return FaissIndex.load(kind, folder)


def server(url: str, key: str | None = None) -> VectorServer:
    """The server of vectors at ``url``; options stand behind ``#``, as in ``#exact=true&shards=6``.

    Raises InvalidInput for a URL of no known form, or where its package is not installed. The URL
    is not shown: it may hold a password.
    """
    address, fragment = urldefrag(url)
    kind, _, rest = address.partition("+")
    if kind != "qdrant" or not rest.startswith(("http://", "https://")):
        raise InvalidInput("TOUCHSTONE_VECTORS_URL names no server of a known kind.", _FORMS)
    try:
        from rag.stores.qdrant import QdrantVectors

        return QdrantVectors.connect(rest, key, dict(parse_qsl(fragment)))
    except ImportError as error:
        raise InvalidInput(
            f"The package {error.name} is not installed.",
            "Run: pip install -r requirements-qdrant.txt",
        ) from error
    except ValueError as error:
        raise InvalidInput("TOUCHSTONE_VECTORS_URL is not understood.", _FORMS) from error


def _check(kind: str) -> None:
    if kind not in KINDS:
        raise InvalidRecipe(
            f"No vector index is called {kind!r}.", "Choose one of: " + ", ".join(KINDS)
        )
