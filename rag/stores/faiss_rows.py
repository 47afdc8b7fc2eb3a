"""One piece of FAISS: vectors by row, scanned or searched approximately."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import faiss as faiss_module
import numpy as np

from rag.types import Integers, Mask, Vectors

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
        """Reads what ``write`` wrote. Raises ValueError when it is missing or damaged."""
        try:
            return cls(kind, faiss.read_index(str(path)))
        except RuntimeError as error:
            raise ValueError(f"{path.name} cannot be read: {error}") from error

    def write(self, path: Path) -> None:
        """Writes one file. Raises OSError."""
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
        """Builds what its kind is searched by; may take a minute."""
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
