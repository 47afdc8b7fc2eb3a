"""Vectors in FAISS (Douze et al., "The Faiss library", 2024): flat, HNSW or IVF."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from rag.stores.faiss_rows import FaissRows, Mask, Rows, chunks
from rag.stores.given import check_dimension, checked
from rag.types import Keys, Scores, Vectors

SMALLEST_SEGMENT = 4096
LARGEST_MERGED = 65_536
MOST_DEAD = 0.25
MARGIN = 32
FORMAT = 1


@dataclass(frozen=True, eq=False)
class _VectorSegment:
    """Vectors as rows: ``keys`` and ``live`` (False: removed) have shape (rows,)."""

    index: FaissRows
    keys: Keys
    live: Mask

    @cached_property
    def size(self) -> int:
        return int(np.count_nonzero(self.live))

    @cached_property
    def _order(self) -> Rows:
        return np.argsort(self.keys, kind="stable")

    def find(self, keys: Keys) -> Rows:
        """Live rows of ``keys``, in their order; -1 where there is none."""
        at = np.searchsorted(self.keys, keys, sorter=self._order)
        rows = self._order[np.minimum(at, len(self.keys) - 1)]
        rows[(self.keys[rows] != keys) | ~self.live[rows]] = -1
        return rows

    def without(self, rows: Rows) -> _VectorSegment:
        live = self.live.copy()
        live[rows] = False
        return replace(self, live=live)

    def nearest(self, query: Vectors, k: int, allowed: Keys | None) -> tuple[Keys, Scores]:
        """The k best live (and allowed) passages with their cosines."""
        mask = self.live
        if allowed is not None:
            rows = self.find(allowed)
            mask = np.zeros(len(self.keys), dtype=np.bool_)
            mask[rows[rows >= 0]] = True
        rows = self._candidates(query, k, mask, exact=allowed is not None)
        return _best(self.keys[rows], self._cosines(query, rows), k)

    def _candidates(self, query: Vectors, k: int, mask: Mask, *, exact: bool) -> Rows:
        """Rows of ``mask`` that hold its k nearest; ``exact`` makes that certain in every kind."""
        choice, wanted = int(np.count_nonzero(mask)), k + MARGIN
        if choice <= wanted:
            return np.flatnonzero(mask)
        if not (self.index.exact or exact):
            rows = self.index.approximate(query, wanted, mask)
            if len(rows) >= k:
                return rows
        return self.index.scan(query, k, mask)

    def _cosines(self, query: Vectors, rows: Rows) -> Scores:
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
        return sum(segment.size for segment in self.segments)

    @property
    def exact(self) -> bool:
        """Whether searches find the very nearest: flat always, other kinds while they are small."""
        return all(segment.index.exact for segment in self.segments)

    def added(self, keys: Keys, vectors: Vectors) -> FaissIndex:
        """An index that also holds ``vectors``; of a key given twice the later one counts.

        Raises InvalidInput for vectors of another dimension or number.
        """
        names, rows, kept = checked(keys, vectors, self.dimension)
        if not len(kept):
            return self
        parts = (rows[part] for part in chunks(kept))
        index = FaissRows.of(self.kind, len(kept), self.dimension, parts)
        new = _VectorSegment(index, names[kept], np.ones(len(kept), dtype=np.bool_))
        return self._with([*_without(self.segments, new.keys), new])

    def removed(self, keys: Keys) -> FaissIndex:
        """An index without ``keys``; unknown ones are ignored."""
        return self._with(_without(self.segments, np.asarray(keys, dtype=np.int64)))

    def search(self, query: Vectors, k: int, allowed: Keys | None = None) -> tuple[Keys, Scores]:
        """The k nearest to ``query``, shape (dimension,), best first; ties break by key.

        Among ``allowed`` they are exact in every kind: a graph is walked in vain where most of it
        may not be found.

        Raises InvalidInput for a query of another dimension.
        """
        vector = np.ascontiguousarray(query, dtype=np.float32).reshape(-1)
        check_dimension(len(vector), self.dimension)
        choice = None if allowed is None else np.asarray(allowed, dtype=np.int64)
        if k < 1 or not self.segments:
            return np.empty(0, dtype=np.int64), np.empty(0)
        found = [segment.nearest(vector, k, choice) for segment in self.segments]
        keys, scores = (np.concatenate(parts) for parts in zip(*found, strict=True))
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
        return FaissIndex(self.kind, self.dimension, _tidy(self.kind, self.dimension, segments))


def _loaded(kind: str, place: Path, at: int) -> _VectorSegment:
    index = FaissRows.read(kind, place / f"segment-{at}.faiss")
    try:
        keys = np.load(place / f"keys-{at}.npy", allow_pickle=False)
        live = np.load(place / f"live-{at}.npy", allow_pickle=False)
    except EOFError as error:
        raise ValueError(f"segment {at} has an empty file") from error
    if not len(keys) == len(live) == len(index):
        raise ValueError(f"segment {at} has files of different builds")
    return _VectorSegment(index, keys, live)


def _without(segments: Sequence[_VectorSegment], keys: Keys) -> list[_VectorSegment]:
    found = [(segment, segment.find(keys)) for segment in segments]
    return [
        segment.without(rows[rows >= 0]) if (rows >= 0).any() else segment
        for segment, rows in found
    ]


def _tidy(
    kind: str, dimension: int, segments: Sequence[_VectorSegment]
) -> tuple[_VectorSegment, ...]:
    """Drops what is dead and merges neighbours, so that sizes fall from first to last."""
    groups: list[list[_VectorSegment]] = []
    for segment in segments:
        if not segment.size:
            continue
        group = [segment]
        while groups and _belong_together(_total(groups[-1]), _total(group)):
            group = groups.pop() + group
        groups.append(group)
    return tuple(
        group[0] if len(group) == 1 and not _is_stale(group[0]) else _merged(kind, dimension, group)
        for group in groups
    )


def _merged(kind: str, dimension: int, group: Sequence[_VectorSegment]) -> _VectorSegment:
    """The live vectors of a group as one segment; copied in chunks, so only the result is new."""
    parts = (
        segment.index.vectors(rows)
        for segment in group
        for rows in chunks(np.flatnonzero(segment.live))
    )
    index = FaissRows.of(kind, _total(group), dimension, parts)
    keys = np.concatenate([segment.keys[segment.live] for segment in group])
    return _VectorSegment(index, keys, np.ones(len(keys), dtype=np.bool_))


def _belong_together(before: int, new: int) -> bool:
    """Merging copies, so what is large stays as it is: that bounds the memory it takes."""
    return before <= max(new, SMALLEST_SEGMENT) and before + new <= LARGEST_MERGED


def _total(group: Sequence[_VectorSegment]) -> int:
    return sum(segment.size for segment in group)


def _is_stale(segment: _VectorSegment) -> bool:
    return segment.size < (1 - MOST_DEAD) * len(segment.keys)


def _best(keys: Keys, scores: Scores, k: int) -> tuple[Keys, Scores]:
    order = np.lexsort((keys, -scores))[:k]
    return keys[order], scores[order]
