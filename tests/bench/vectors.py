"""Comparing all vectors beside a graph, in this process, by number of vectors.

``python -m rag bench --only vectors`` runs it; it prints what the limit of ``vector_index=auto``
rests on. The vectors are those that ship with the sample, each many times with noise of half its
length; so are the 100 queries. Milliseconds are those of one search for 100 passages.
"""

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag import stores
from rag.protocols import VectorIndex
from rag.types import Keys, Vectors
from rag.workspace.workspace import SAMPLE_VECTORS

SIZES, QUERIES, NOISE, DEPTH, BLOCK = (50_000, 100_000, 260_000, 1_000_000), 100, 0.5, 100, 65_536


def measure(
    _folder: Path, *, sizes: Sequence[int] = SIZES, asked: int = QUERIES
) -> dict[str, float]:
    """Milliseconds at the median and the 95th percentile, recall, and seconds of building."""
    with np.load(SAMPLE_VECTORS) as file:
        rows = file["rows"].astype(np.float32)
    dice = np.random.default_rng(7)
    queries = _perturbed(dice, rows, asked)
    figures: dict[str, float] = {}
    for size in sizes:
        scanned, graph = (stores.empty(kind, rows.shape[1]) for kind in ("flat", "hnsw"))
        for start in range(0, size, BLOCK):
            keys = np.arange(start, min(start + BLOCK, size), dtype=np.int64)
            part = _perturbed(dice, rows, len(keys))
            scanned, graph = scanned.added(keys, part), graph.added(keys, part)
        began = time.perf_counter()
        graph.settle()
        seconds = time.perf_counter() - began
        truth, scan = _timed(scanned, queries)
        found, walk = _timed(graph, queries)
        row = f"{size:,} vectors"
        figures |= {
            f"{row} | all, median": float(np.median(scan)),
            f"{row} | all, p95": float(np.percentile(scan, 95)),
            f"{row} | graph, median": float(np.median(walk)),
            f"{row} | graph, p95": float(np.percentile(walk, 95)),
            f"{row} | recall@10": _recall(found, truth, 10),
            f"{row} | recall@100": _recall(found, truth, DEPTH),
            f"{row} | making it, s": seconds,
        }
    return figures


def _perturbed(dice: np.random.Generator, rows: Vectors, number: int) -> Vectors:
    chosen = rows[dice.integers(0, len(rows), number)]
    noise = dice.standard_normal(chosen.shape, np.float32) * NOISE / np.sqrt(chosen.shape[1])
    moved = chosen + noise
    unit: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _timed(index: VectorIndex, queries: Vectors) -> tuple[list[Keys], list[float]]:
    found, milliseconds = [], []
    for query in queries:
        began = time.perf_counter()
        found.append(index.search(query, DEPTH)[0])
        milliseconds.append(1000 * (time.perf_counter() - began))
    return found, milliseconds


def _recall(found: list[Keys], truth: list[Keys], depth: int) -> float:
    pairs = zip(found, truth, strict=True)
    return float(np.mean([len(np.intersect1d(a[:depth], b[:depth])) / depth for a, b in pairs]))
