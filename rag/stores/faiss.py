"""Vectors in FAISS (Douze et al., "The Faiss library", 2024): flat, HNSW or IVF."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import faiss as faiss_module
import numpy as np

from rag.lexical.passage_rows import PassageRows, tidy, total, without
from rag.stores.given import best, check_dimension, check_vectors
from rag.types import Integers, Keys, Mask, Scores, Vectors

SMALLEST_APPROXIMATE = 10_000
CHUNK = 8192

# Chosen so that 95% and more of the true 100 nearest are found on 40,000 real sentences.
HNSW_LINKS = 24
HNSW_BUILD_DEPTH = 64
HNSW_SEARCH_DEPTH = 320
IVF_POINTS_PER_LIST = 39
IVF_PROBED_SHARE = 0.35

# FAISS ships type stubs that lack half of what it has.
faiss: Any = faiss_module


class FaissRows:
    """The one place that holds a segment's vectors: a flat index, or what was built from it.

    HNSW and IVF are built when it settles, so that merges copy plain vectors and no search waits,
    and replace the flat index. Small indexes stay flat: scanning them is quicker, and exact.
    """

    def __init__(self, kind: str, index: Any) -> None:
        self.kind = kind if index.ntotal >= SMALLEST_APPROXIMATE else "flat"
        self._index = index
        self._lock = threading.Lock()

    @classmethod
    def of(cls, kind: str, size: int, dimension: int, parts: Iterable[Vectors]) -> FaissRows:
        """An index of ``size`` vectors that come in ``parts``; besides them nothing is copied."""
        index = faiss.IndexFlatIP(dimension)
        # index.add would grow its memory as it goes, and hold up to twice of what is needed.
        index.codes.resize(size * dimension * np.dtype(np.float32).itemsize)
        index.ntotal = size
        room, filled = _view(index), 0
        for part in parts:
            room[filled : filled + len(part)] = part
            filled += len(part)
        return cls(kind, index)

    @classmethod
    def read(cls, kind: str, path: Path) -> FaissRows:
        """Read what ``write`` wrote. Raises ValueError when it is missing or damaged."""
        try:
            return cls(kind, faiss.read_index(str(path)))
        except RuntimeError as error:
            raise ValueError(f"{path.name} cannot be read: {error}") from error

    def write(self, path: Path) -> None:
        """Write one file. Raises OSError."""
        try:
            self.settle()
            faiss.write_index(self._index, str(path))
        except RuntimeError as error:
            raise OSError(f"{path.name} cannot be written: {error}") from error

    def __len__(self) -> int:
        """Number of rows."""
        return int(self._index.ntotal)

    @property
    def exact(self) -> bool:
        """Whether every search scans all rows."""
        return self.kind == "flat"

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._index.d)

    def vectors(self, rows: Integers) -> Vectors:
        """Copies of the vectors in ``rows``, shape (len(rows), dimension)."""
        index = self._index
        result: Vectors = index.reconstruct_batch(rows) if _is_listed(index) else _view(index)[rows]
        return result

    def approximate(self, query: Vectors, count: int, mask: Mask) -> Integers:
        """About the ``count`` nearest rows of ``mask``, sometimes fewer, in no exact order.

        Only once it is settled.
        """
        index = self._index
        _, neighbours = index.search(query[None], count, params=_depth(index, count, mask))
        rows: Integers = neighbours[0][neighbours[0] >= 0]
        return rows

    def scan(self, query: Vectors, k: int, mask: Mask) -> Integers:
        """All rows of ``mask`` that may be among its k nearest, given how float32 rounds.

        ``mask`` must hold more than k rows. A matrix product over FAISS's memory: for one query
        twice as quick as IndexFlatIP.search, and no tie at the k-th place is left to chance.
        """
        index = self._index
        if _is_listed(index):
            scores = np.full(len(mask), -np.inf, dtype=np.float32)
            for rows in chunks(np.flatnonzero(mask)):
                scores[rows] = index.reconstruct_batch(rows) @ query
        else:
            scores = np.where(mask, _view(index) @ query, np.float32(-np.inf))
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        # Twice the bound of a dot product's rounding error (Higham 2002, 3.1) for unit vectors.
        rounding = 2 * index.d * np.finfo(np.float32).eps
        return np.flatnonzero(scores >= least - rounding)

    @property
    def settled(self) -> bool:
        """Whether there is nothing to build, or it is built."""
        return self.exact or not isinstance(self._index, faiss.IndexFlat)

    def settle(self) -> None:
        """Build what its kind is searched by; may take a minute."""
        with self._lock:
            if not self.settled:
                build = {"hnsw": _hnsw, "ivf": _ivf}[self.kind]
                self._index = build(_view(self._index))


def chunks(rows: Integers) -> Iterator[Integers]:
    """``rows`` in pieces that bound the memory of what is done with them."""
    return (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))


def _hnsw(vectors: Vectors) -> Any:
    index = faiss.IndexHNSWFlat(vectors.shape[1], HNSW_LINKS, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = HNSW_BUILD_DEPTH
    index.add(vectors)
    return index


def _ivf(vectors: Vectors) -> Any:
    size, dimension = vectors.shape
    lists = min(int(4 * size**0.5), size // IVF_POINTS_PER_LIST)
    coarse = faiss.IndexFlatIP(dimension)
    index = faiss.IndexIVFFlat(coarse, dimension, lists, faiss.METRIC_INNER_PRODUCT)
    index.train(vectors)
    index.add(vectors)
    index.make_direct_map()
    return index


def _is_listed(index: Any) -> bool:
    """Whether an inverted file, which keeps vectors in lists, not in rows."""
    return isinstance(index, faiss.IndexIVF)


def _view(index: Any) -> Vectors:
    """The vectors inside of a flat or HNSW index, not copied; valid while ``index`` lives."""
    if not index.ntotal:
        return np.empty((0, index.d), dtype=np.float32)
    plain = index if isinstance(index, faiss.IndexFlat) else faiss.downcast_index(index.storage)
    flat: Vectors = faiss.rev_swig_ptr(plain.get_xb(), index.ntotal * index.d)
    return flat.reshape(index.ntotal, index.d)


def _depth(index: Any, count: int, mask: Mask) -> Any:
    """Search parameters: how far to look, and only at ``mask``."""
    share = np.count_nonzero(mask) / len(mask)
    chosen = None if share == 1 else faiss.IDSelectorBitmap(np.packbits(mask, bitorder="little"))
    if isinstance(index, faiss.IndexIVF):
        probes = max(1, int(IVF_PROBED_SHARE * index.nlist))
        return faiss.SearchParametersIVF(sel=chosen, nprobe=probes)
    depth = int(max(2 * count, HNSW_SEARCH_DEPTH) / share)
    return faiss.SearchParametersHNSW(sel=chosen, efSearch=depth)


MARGIN = 32
FORMAT = 1


@dataclass(frozen=True, eq=False)
class _VectorSegment(PassageRows):
    index: FaissRows

    def nearest(self, query: Vectors, k: int, allowed: Keys | None) -> tuple[Keys, Scores]:
        """The k best live (and allowed) passages with their cosines."""
        rows = self._candidates(query, k, self.usable(allowed), exact=allowed is not None)
        # Row by row in float64: the same figure whatever segment a vector is in
        exact = query.astype(np.float64)
        parts = [(self.index.vectors(part) * exact).sum(axis=1) for part in chunks(rows)]
        return best(self.keys[rows], np.concatenate([*parts, np.empty(0)]), k)

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
        return best(keys, scores, k)

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
        """Make them."""
        for segment in self.segments:
            segment.index.settle()

    def save(self, folder: str) -> None:
        """Write the index into an existing, empty folder. Raises OSError."""
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
        """Read what ``save`` wrote. Raises OSError or ValueError: missing, damaged, other kind."""
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
