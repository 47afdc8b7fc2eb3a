"""A build at one moment, as searches hold it and as a snapshot has it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from rag.lexical import LexicalIndex
from rag.protocols import VectorIndex
from rag.services.indexing.kinds import Kind
from rag.types import Keys

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
