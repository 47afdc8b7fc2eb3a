"""A build at one moment, as searches hold it and as a snapshot has it.

The kind of its vector index is the one in the recipe, or for ``auto`` one by size.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np

from rag.lexical import LexicalIndex
from rag.protocols import VectorIndex
from rag.recipe import IndexRecipe
from rag.storage import Connection, Database, bases, documents, passages
from rag.types import Chunk, Keys

NO_CUT = 0  # no row has this number
_COPIED_AT_ONCE = 65_536


@dataclass(frozen=True)
class Index:
    """A build at one moment: ``keys`` lists the passages of every document that it holds.

    ``cut_id`` is 0 where no document was ever cut that way. ``readers`` has the version of the
    reader of each document: read again, a document has other passages. ``waiting`` lists the
    passages, by document, whose vectors are not in yet: they are in ``keys`` and ``lexical`` only.
    ``kind`` is that of ``dense``.
    """

    version: int
    cut_id: int
    dense: VectorIndex
    lexical: LexicalIndex
    keys: Mapping[str, Keys]
    readers: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, Keys] = field(default_factory=dict)
    kind: Kind = "flat"

    @cached_property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return self.dense.bytes + self.lexical.bytes + sum(k.nbytes for k in self.keys.values())

    @cached_property
    def passages(self) -> Keys:
        """The keys of all passages, in order."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.keys.values()]))

    @cached_property
    def without_vector(self) -> Keys:
        """The keys of the passages whose vectors are not in yet, in order."""
        return np.unique(np.concatenate([np.empty(0, np.int64), *self.waiting.values()]))

    @property
    def embedded_passages(self) -> Keys:
        """The keys of the others."""
        return np.setdiff1d(self.passages, self.without_vector, assume_unique=True)

    @property
    def embedded(self) -> Index:
        """The same without the documents that lack vectors."""
        # Never kept in itself: a server deletes rows when the last reader releases them, and
        # what refers to itself waits for the garbage collector.
        return self._embedded if self.waiting else self

    @cached_property
    def _embedded(self) -> Index:
        keys = {
            name: document_keys
            for name, document_keys in self.keys.items()
            if name not in self.waiting
        }
        return replace(self, keys=keys, waiting={})


def copied(source: VectorIndex, target: VectorIndex, keys: Keys) -> VectorIndex:
    """``target`` with the vectors of ``keys`` too, of which few are held at once."""
    for start in range(0, len(keys), _COPIED_AT_ONCE):
        part = keys[start : start + _COPIED_AT_ONCE]
        target = target.added(part, source.vectors(part))
    return target


def caught_up(dense: VectorIndex, before: Index, now: Index) -> VectorIndex:
    """``dense``, which holds what ``before`` did, with what ``now`` holds."""
    indexed, current = before.embedded_passages, now.embedded_passages
    dense = dense.removed(np.setdiff1d(indexed, current, assume_unique=True))
    return copied(now.dense, dense, np.setdiff1d(current, indexed, assume_unique=True))


def write(index: Index, folder: Path, embedder: str) -> None:
    """Write a snapshot into an existing, empty folder. Raises OSError."""
    for part in ("dense", "lexical"):
        (folder / part).mkdir()
    index.dense.save(str(folder / "dense"))
    index.lexical.save(folder / "lexical")
    sizes = [len(document_keys) for document_keys in index.keys.values()]
    flat = np.concatenate([*index.keys.values(), np.empty(0, np.int64)])
    np.save(folder / "keys.npy", flat)
    readers = [index.readers.get(name, 0) for name in index.keys]
    about = {
        "embedder": embedder,
        "vectors": index.kind,
        "documents": list(index.keys),
        "sizes": sizes,
        "readers": readers,
    }
    (folder / "index.json").write_text(json.dumps(about))


Kind = Literal["flat", "hnsw", "ivf", "auto"]

BUDGET_SECONDS = 0.05
"""What a scan of all vectors may take of a search. Beyond it, auto means a graph."""
MOST_SCANNED = 100_000_000
"""Numbers (vectors times dimensions) that two cores scan within that time.

A constant, not measured anew, so that the same documents give the same kind on every machine;
``python -m rag bench --only vectors`` prints what it rests on.
"""


@dataclass(frozen=True, slots=True)
class VectorChoice:
    """The ``kind`` of a build's vector index, and what it was chosen by.

    ``limit`` is how many vectors of this dimension auto scans; None where the recipe names the
    kind, or a server has one kind of its own (``is_served``).
    """

    asked: Kind
    kind: Kind
    vectors: int
    dimension: int
    limit: int | None = None
    is_served: bool = False

    @property
    def headline(self) -> str:
        """The kind of search and the reason for it, in one sentence."""
        if self.is_served:
            return "Search by the vector server."
        search = "Exact search" if self.kind == "flat" else "Approximate search"
        if self.limit is None:
            return f"{search} (set in the recipe)."
        return f"{search} ({'small' if self.kind == 'flat' else 'large'} index)."

    @property
    def details(self) -> str:
        """The figures behind the headline, in sentences."""
        if self.is_served:
            return "The vector server decides how it searches."
        if self.limit is None:
            return f"The recipe sets index.vector_index to {self.kind}."
        budget = (
            f"Up to {self.limit:,} vectors of {self.dimension:,} dimensions can be compared in "
            f"{1000 * BUDGET_SECONDS:.0f} ms. This index has {self.vectors:,}"
        )
        if self.kind == "flat":
            return f"{budget}, so every search compares all of them."
        return f"{budget}, so searches follow a graph instead, which can miss a near vector."


def chosen(recipe: IndexRecipe, vectors: int, dimension: int) -> VectorChoice:
    """The kind for so many vectors: the same for the same documents, whatever was there before."""
    requested = recipe.vector_index
    if requested != "auto":
        return VectorChoice(requested, requested, vectors, dimension)
    limit = MOST_SCANNED // dimension
    return VectorChoice(
        requested, "flat" if vectors <= limit else "hnsw", vectors, dimension, limit
    )


PassagesByKey = dict[int, tuple[Chunk, str]]


def lookup(
    database: Database, base_id: int, cut_id: int, version: int = 0
) -> Callable[[Sequence[int]], PassagesByKey]:
    """Read passages with the names of their documents, by key.

    A replica is asked once it has the ``version`` of the knowledge base in which they were found.
    """

    def is_ready(connection: Connection) -> bool:
        return bases.has_version(connection, base_id, version)

    def read(keys: Sequence[int]) -> PassagesByKey:
        def among(connection: Connection) -> PassagesByKey:
            chunks = passages.by_key(connection, cut_id, keys)
            ids = list({chunk.document_id for chunk in chunks.values()})
            names = documents.names(connection, base_id, ids)
            return {key: (chunk, names[chunk.document_id]) for key, chunk in chunks.items()}

        return database.nearby(among, is_ready)

    return read
