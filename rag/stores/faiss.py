"""Vectors in FAISS (Douze et al., "The Faiss library", 2024): flat, HNSW or IVF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from rag.lexical.passage_rows import PassageRows, tidy, total, without
from rag.stores.faiss_rows import FaissRows, chunks
from rag.stores.given import check_dimension, check_vectors
from rag.types import Integers, Keys, Mask, Scores, Vectors

MARGIN = 32
FORMAT = 1


@dataclass(frozen=True, eq=False)
class _VectorSegment(PassageRows):
    index: FaissRows

    def nearest(self, query: Vectors, k: int, allowed: Keys | None) -> tuple[Keys, Scores]:
        """The k best live (and allowed) passages with their cosines."""
        rows = self._candidates(query, k, self.usable(allowed), exact=allowed is not None)
        return _best(self.keys[rows], self._cosines(query, rows), k)

    def _candidates(self, query: Vectors, k: int, mask: Mask, *, exact: bool) -> Integers:
        """Rows of ``mask`` that hold its k nearest; ``exact`` makes that certain in every kind."""
        choice, depth = int(np.count_nonzero(mask)), k + MARGIN
        if choice <= depth:
            return np.flatnonzero(mask)
        if self.index.settled and not (self.index.exact or exact):
            rows = self.index.approximate(query, depth, mask)
            if len(rows) >= k:
                return rows
        return self.index.scan(query, k, mask)

    def _cosines(self, query: Vectors, rows: Integers) -> Scores:
        """Row by row in float64: the same figure whatever segment a vector is in."""
        exact = query.astype(np.float64)
        parts = [(self.index.vectors(part) * exact).sum(axis=1) for part in chunks(rows)]
        return np.concatenate([*parts, np.empty(0)])


@dataclass(frozen=True, eq=False)
class FaissIndex:
    """Unit vectors by key, in immutable segments that successive indexes share.

    ``kind`` flat is exact; hnsw and ivf are approximate from ten thousand vectors on. Scores
    are exact cosines in every kind.
    """

    kind: str
    dimension: int
    segments: tuple[_VectorSegment, ...] = ()

    def __len__(self) -> int:
        """Number of vectors that can be found."""
        return total(self.segments)

    @property
    def exact(self) -> bool:
        """Whether searches find the very nearest: flat always, other kinds while they are small."""
        return all(segment.index.exact for segment in self.segments)

    @property
    def bytes(self) -> int:
        """About how much memory it takes; segments that other indexes share count too."""
        row = (self.dimension + 2) * np.dtype(np.float32).itemsize  # and its key
        return row * sum(len(segment.keys) for segment in self.segments)

    def added(self, keys: Keys, vectors: Vectors) -> FaissIndex:
        """An index that also holds ``vectors``; of a key given twice the later one counts.

        Raises InvalidInput for vectors of another dimension or number.
        """
        names, rows, kept_rows = check_vectors(keys, vectors, self.dimension)
        if not len(kept_rows):
            return self
        parts = (rows[part] for part in chunks(kept_rows))
        index = FaissRows.of(self.kind, len(kept_rows), self.dimension, parts)
        new = _VectorSegment(names[kept_rows], np.ones(len(kept_rows), dtype=np.bool_), index)
        return self._with([*without(self.segments, new.keys), new])

    def removed(self, keys: Keys) -> FaissIndex:
        """An index without ``keys``; unknown ones are ignored."""
        return self._with(without(self.segments, np.asarray(keys, dtype=np.int64)))

    def search(self, query: Vectors, k: int, allowed: Keys | None = None) -> tuple[Keys, Scores]:
        """The k nearest to ``query``, shape (dimension,), best first; ties break by key.

        Among ``allowed`` they are exact in every kind: a graph is walked in vain where most of it
        may not be found.

        Raises InvalidInput for a query of another dimension.
        """
        vector = np.ascontiguousarray(query, dtype=np.float32).reshape(-1)
        check_dimension(len(vector), self.dimension)
        if k < 1 or not self.segments:
            return np.empty(0, dtype=np.int64), np.empty(0)
        results = [segment.nearest(vector, k, allowed) for segment in self.segments]
        keys, scores = (np.concatenate(parts) for parts in zip(*results, strict=True))
        return _best(keys, scores, k)

    def vectors(self, keys: Keys) -> Vectors:
        """Copies of the vectors of ``keys``, in their order. Raises KeyError for an unknown key."""
        names = np.asarray(keys, dtype=np.int64)
        result = np.empty((len(names), self.dimension), dtype=np.float32)
        is_missing = np.ones(len(names), dtype=np.bool_)
        for segment in self.segments:
            rows = segment.find(names)
            here = rows >= 0
            result[here] = segment.index.vectors(rows[here])
            is_missing &= ~here
        if is_missing.any():
            raise KeyError(int(names[is_missing][0]))
        return result

    @property
    def settled(self) -> bool:
        """Whether every graph or list is made; until then all vectors are compared."""
        return all(segment.index.settled for segment in self.segments)

    def settle(self) -> None:
        """Makes them."""
        for segment in self.segments:
            segment.index.settle()

    def save(self, folder: str) -> None:
        """Writes the index into an existing, empty folder. Raises OSError."""
        place = Path(folder)
        for at, segment in enumerate(self.segments):
            segment.index.write(place / f"segment-{at}.faiss")
            np.save(place / f"keys-{at}.npy", segment.keys, allow_pickle=False)
            np.save(place / f"live-{at}.npy", segment.live, allow_pickle=False)
        about = {
            "format": FORMAT,
            "kind": self.kind,
            "dimension": self.dimension,
            "segments": len(self.segments),
        }
        (place / "vectors.json").write_text(json.dumps(about), encoding="utf-8")

    @classmethod
    def load(cls, kind: str, folder: str) -> FaissIndex:
        """Reads what ``save`` wrote. Raises OSError or ValueError: missing, damaged, other kind."""
        place = Path(folder)
        about = json.loads((place / "vectors.json").read_text(encoding="utf-8"))
        if (about.get("format"), about.get("kind")) != (FORMAT, kind):
            raise ValueError(f"saved as {about.get('kind')}, format {about.get('format')}")
        segments = tuple(_loaded(kind, place, at) for at in range(about["segments"]))
        if any(segment.index.dimension != about["dimension"] for segment in segments):
            raise ValueError("segments are of different dimensions")
        return cls(kind, about["dimension"], segments)

    def _with(self, segments: Sequence[_VectorSegment]) -> FaissIndex:
        merged = partial(_merged, self.kind, self.dimension)
        return FaissIndex(self.kind, self.dimension, tidy(segments, merged))


def _loaded(kind: str, place: Path, at: int) -> _VectorSegment:
    index = FaissRows.read(kind, place / f"segment-{at}.faiss")
    try:
        keys = np.load(place / f"keys-{at}.npy", allow_pickle=False)
        live = np.load(place / f"live-{at}.npy", allow_pickle=False)
    except EOFError as error:
        raise ValueError(f"segment {at} has an empty file") from error
    if not len(keys) == len(live) == len(index):
        raise ValueError(f"segment {at} has files of different builds")
    return _VectorSegment(keys, live, index)


def _merged(kind: str, dimension: int, group: Sequence[_VectorSegment]) -> _VectorSegment:
    """The live vectors of a group as one segment; copied in chunks, so only the result is new."""
    parts = (
        segment.index.vectors(rows)
        for segment in group
        for rows in chunks(np.flatnonzero(segment.live))
    )
    index = FaissRows.of(kind, total(group), dimension, parts)
    keys = np.concatenate([segment.keys[segment.live] for segment in group])
    return _VectorSegment(keys, np.ones(len(keys), dtype=np.bool_), index)


def _best(keys: Keys, scores: Scores, k: int) -> tuple[Keys, Scores]:
    order = np.lexsort((keys, -scores))[:k]
    return keys[order], scores[order]
