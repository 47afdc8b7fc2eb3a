"""Tasks of the workers: pure functions without a database, settings or keys."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from rag import providers, readers
from rag.errors import MissingDependency, ProviderMisbehaved
from rag.protocols import Embedder
from rag.types import Document, Vectors

_loading = threading.Lock()


class _NoVariables:
    def variable(self, _name: str) -> None:
        """Models of a worker's own computer need none."""


def read(content: bytes, name: str, source: str, limits: readers.Limits) -> Document:
    """Read a file of that content, see ``readers.read``. Raises UnreadableDocument."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(content)
        try:
            return readers.read(path, name, source=source, limits=limits)
        except MissingDependency as error:
            raise _lacking(error) from error


def embed(name: str, space: str, texts: Sequence[str]) -> Vectors:
    """The vectors of passages, shape (len(texts), dimension), float32, by a model of the worker.

    Raises ProviderMisbehaved where its vectors are not of the ``space`` of those who ask.
    """
    with _loading:
        embedder = _embedder(name)
    if embedder.id != space:
        raise ProviderMisbehaved(
            f"A worker of the cluster has the model {embedder.id}, not {space}.",
            "Install the same version of Touchstone and of its models there.",
        )
    try:
        return embedder.embed(texts, "document")
    except MissingDependency as error:
        raise _lacking(error) from error


@cache
def _embedder(name: str) -> Embedder:
    return providers.embedder(name, _NoVariables())


def _lacking(error: MissingDependency) -> MissingDependency:
    return MissingDependency(f"A worker of the cluster cannot do it: {error.message}", error.hint)
