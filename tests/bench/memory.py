"""Peak memory of reading a 100 MB text file, cutting it, embedding and indexing its passages.

``python -m rag bench --only memory`` runs it; it takes several minutes.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEGABYTES = 100
WORDS = 20_000


def measure(_folder: Path, *, size: int = MEGABYTES << 20) -> dict[str, float]:
    """Megabytes at the peak of a whole process, above one that reads a 1 KB file alike."""
    with tempfile.TemporaryDirectory() as folder:
        small = _peak(Path(folder) / "small", 1 << 10)
        large = _peak(Path(folder) / "large", size)
    return {"small_file_mb": small, "large_file_mb": large, "growth_mb": large - small}


def _peak(folder: Path, size: int) -> float:
    folder.mkdir()
    _write(folder / "text.txt", size)
    arguments = ["-m", "rag", "ingest", "kb", str(folder / "text.txt")]
    arguments += ["--home", str(folder / "home"), "--set", "index.embedder=wordllama", "--json"]
    child = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        {**os.environ, "PYTHONPATH": str(ROOT)},
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
    )
    _, status, usage = os.wait4(child, 0)
    if status:
        raise RuntimeError(f"reading {size} bytes failed")
    return usage.ru_maxrss / 1024


def _write(path: Path, size: int) -> None:
    dice = random.Random(3)
    words = ["".join(dice.choices("abcdefghijklmnoprstuvwz", k=7)) for _ in range(WORDS)]
    with path.open("w") as file:
        while file.tell() < size:
            file.write(" ".join(dice.choices(words, k=90)) + ".\n\n")
