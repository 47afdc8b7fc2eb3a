"""Location of the indexes: in this process with its snapshots, or on configured servers.

A snapshot is a folder whose files are as they were written, or are not read at all: ``seal`` lists
the hash of every file, and ``opened`` compares. No format of an array or an index says by itself
that one of its bytes is another than it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rag import stores
from rag.errors import InvalidInput, StorageError
from rag.protocols import Embedder, VectorIndex, VectorServer
from rag.recipe import IndexRecipe
from rag.services.indexing.index import Kind, VectorChoice, chosen
from rag.settings import Settings
from rag.storage import Database
from rag.storage.files import digest, sync_folder
from rag.stores import RemoteVectorIndex, pgvector
from rag.stores.pgvector import PgVectors

log = logging.getLogger(__name__)

Place = tuple[int, str]
"""A knowledge base and the hash of one of its builds."""

WITHOUT_PGVECTOR = (
    "Vectors are searched in this process, not by pgvector, for lack of rights in the database. An "
    "administrator can run the following, and then the processes start again:"
)
_GRACE_SECONDS = 60.0  # longer than a search


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers of vectors; None keeps them in this process.

    ``by_kind`` has other servers for recipes with some ``vector_index``. ``grace`` is for how many
    seconds servers keep what is gone: for searches of other processes that ask them too.
    """

    vectors: VectorServer | None = None
    by_kind: Mapping[str, VectorServer] = field(default_factory=dict)
    grace: float = 0.0

    @classmethod
    def of(cls, settings: Settings, database: Database) -> Servers:
        """Return the servers that ``TOUCHSTONE_VECTORS_URL`` selects for a database.

        By default, pgvector has only the graphs. Flat indexes are in this process, because FAISS
        scans them many times faster (docs/measurements.md). Raises InvalidInput, StorageError.
        """
        url = settings.vectors_url
        if url not in (None, "process", "pgvector"):
            server = stores.server(url, settings.vectors_key)
            return cls(vectors=server, grace=_GRACE_SECONDS)
        is_postgres = database.dialect == "postgresql"
        if url == "pgvector" and not is_postgres:
            raise InvalidInput(
                "TOUCHSTONE_VECTORS_URL is 'pgvector', but the database is not PostgreSQL.",
                "Set TOUCHSTONE_DATABASE_URL, or leave TOUCHSTONE_VECTORS_URL out.",
            )
        if not is_postgres or url == "process":
            return IN_PROCESS
        with database.read() as connection:
            available = pgvector.available(connection)
            grants = pgvector.missing_grants(connection) if available else []
        if grants:
            log.warning("%s %s", WITHOUT_PGVECTOR, " ".join(grants))
        if grants or not (url or available):
            return IN_PROCESS
        graphs = {"hnsw": PgVectors(database, "hnsw")}
        scanned = PgVectors(database, "flat") if url == "pgvector" else None
        return cls(vectors=scanned, by_kind=graphs, grace=_GRACE_SECONDS)

    def _of(self, kind: str) -> VectorServer | None:
        return self.by_kind.get(kind, self.vectors)

    def chosen(self, recipe: IndexRecipe, vectors: int, dimension: int) -> VectorChoice:
        """The kind of index for so many vectors; a server that has all kinds knows only one."""
        if self.vectors is not None and not self.by_kind:
            requested = recipe.vector_index
            return VectorChoice(requested, requested, vectors, dimension, is_served=True)
        return chosen(recipe, vectors, dimension)

    def dense(
        self, place: Place, kind: Kind, embedder: Embedder, folder: str | None = None
    ) -> VectorIndex:
        """The vectors of a snapshot in ``folder``, or an empty index where there is none.

        Raises OSError or ValueError for a snapshot that does not serve, StorageError.
        """
        dimension = embedder.dimension
        server = self._of(kind)
        # Of another model the same passages have other vectors: it is another build to the server.
        build = _name(place) + hashlib.sha256(embedder.id.encode()).hexdigest()[:16]
        # The role of a process that runs can lose its rights.
        if isinstance(server, PgVectors) and (grants := server.missing_grants(build)):
            log.warning("%s %s", WITHOUT_PGVECTOR, " ".join(grants))
            server = None
        if server is None:
            return stores.load(kind, folder) if folder else stores.empty(kind, dimension)
        if folder is None:
            return RemoteVectorIndex.empty(server, build, dimension)
        return RemoteVectorIndex.load(server, build, dimension, folder)

    def due(self, index: VectorIndex) -> bool:
        """Whether ``tidy`` has anything to do."""
        return isinstance(index, RemoteVectorIndex) and index.snapshot.due(self.grace)

    def tidy(self, index: VectorIndex) -> None:
        """Delete removed vectors that no snapshot needs from the server.

        Only for the current index: an older one does not know later additions.
        """
        if isinstance(index, RemoteVectorIndex):
            index.snapshot.tidy(self.grace)

    def forget(self, base_id: int, build_hash: str | None) -> None:
        """Drop a build, or all builds of a base. A server that is away keeps them."""
        for server in (self.vectors, *self.by_kind.values()):
            try:
                if server is not None:
                    server.drop(_name((base_id, build_hash or "")))
            except StorageError:
                log.warning("Builds of base %d stay on their server.", base_id, exc_info=True)


IN_PROCESS = Servers()


def _name(place: Place) -> str:
    """Return the server-side name of a place's build, or the prefix of the names of its builds."""
    base_id, build_hash = place
    return f"{base_id}/{build_hash}/" if build_hash else f"{base_id}/"


_MANIFEST = "manifest.json"


def seal(folder: Path) -> None:
    """Put a folder on disk, with a list of its files and their hashes. Raises OSError."""
    (folder / _MANIFEST).write_bytes(_listed(folder))
    for path in (*folder.rglob("*"), folder):
        if path.is_dir():
            sync_folder(path)
        else:
            with path.open("r+b") as file:
                os.fsync(file.fileno())


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[None]:
    """Let the block read a sealed folder.

    Raises ValueError for one that was never sealed, was changed since, or was replaced by another
    process while it was read; OSError where it cannot be read.
    """
    sealed = _manifest(folder)
    if sealed != _listed(folder):
        raise ValueError("its files are not as they were written")
    yield
    if sealed != _manifest(folder):
        raise ValueError("another process replaced it meanwhile")


def is_sealed(folder: Path) -> bool:
    """Whether a folder has a list of hashes; those of earlier versions have none, and are not
    read."""
    return (folder / _MANIFEST).exists()


def intact(folder: Path) -> bool:
    """Whether a folder can be used."""
    try:
        with opened(folder):
            return True
    except (OSError, ValueError):
        return False


def _manifest(folder: Path) -> bytes:
    try:
        return (folder / _MANIFEST).read_bytes()
    except FileNotFoundError as error:
        raise ValueError("it has no list of hashes") from error


def _listed(folder: Path) -> bytes:
    """The SHA-256 of every file but the list itself, by path."""
    hashes = {
        path.relative_to(folder).as_posix(): digest(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != _MANIFEST
    }
    return json.dumps(hashes, indent=1).encode()
