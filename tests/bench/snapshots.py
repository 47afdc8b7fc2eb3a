"""What it costs to compare a snapshot of 100,000 passages with its hashes before it is read.

``python -m rag bench --only snapshots`` runs it. Loading with and without alternate in one run, so
that the ratio can be read on any machine; the files are in the system's cache for both.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rag import stores
from rag.indexing import snapshots
from rag.lexical import LexicalIndex

PASSAGES, DIMENSION, WORDS_PER_PASSAGE, VOCABULARY, ROUNDS = 100_000, 384, 120, 60_000, 9


def measure(_folder: Path, *, passages: int = PASSAGES, rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds at the median, ratios, and the size in megabytes."""
    dice = np.random.default_rng(5)
    rows = dice.standard_normal((passages, DIMENSION), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    dense = stores.empty("flat", DIMENSION).added(np.arange(passages), rows)
    ranks = np.minimum(dice.zipf(1.25, (passages, WORDS_PER_PASSAGE)), VOCABULARY)
    texts = (" ".join(f"w{rank}" for rank in passage) for passage in ranks)
    lexical = LexicalIndex.empty("english").added(enumerate(texts))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("dense", "lexical"):
            (folder / part).mkdir()

        def write() -> None:
            dense.save(str(folder / "dense"))
            lexical.save(folder / "lexical")

        def load() -> None:
            stores.load("flat", str(folder / "dense"))
            LexicalIndex.load(folder / "lexical")

        def load_verified() -> None:
            with snapshots.opened(folder):
                load()

        written, sealed = _seconds(write), _seconds(lambda: snapshots.seal(folder))
        times = np.array([(_seconds(load), _seconds(load_verified)) for _ in range(rounds)])
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    plain, verified = np.median(times, axis=0).tolist()
    return {
        "snapshot_mb": size / 1e6,
        "write_s": written,
        "seal_s": sealed,
        "load_s": plain,
        "load_verified_s": verified,
        "verified_over_plain": verified / plain,
    }


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
