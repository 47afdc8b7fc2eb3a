"""How fast the default embedder is beside a bare loop of onnxruntime, on abstracts of SciFact.

``python -m rag bench --only embedding`` runs it.
"""

import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnxruntime

from rag.providers.minilm import MiniLM
from rag.providers.runtimes import OnnxRuntime, Runtime, open_runtime, weights
from rag.providers.tokens import wordpiece_backend

BARE_BATCH = 16
TEXTS, ROUNDS = 128, 5
"""Both loops take turns, so that other work on the machine slows both alike."""


def measure(folder: Path, *, texts: int = TEXTS, rounds: int = ROUNDS) -> dict[str, float]:
    """``embed_texts_per_second``, ``bare_texts_per_second`` and their ``ratio`` (median of rounds).

    The bare loop gets its batches tokenized, sorted by length and padded beforehand; it only runs
    the model. Ours does everything, from text to unit vectors. ``cpu_ratio`` compares seconds of
    processors, which other programs on the machine change least. ``peak_mb`` is what a process
    that only embeds takes at most, ``onnxruntime_peak_mb`` what it takes with that runtime.
    """
    documents = documents_of(folder / "scifact")[:texts]
    model, bare = MiniLM(), bare_loop(documents)
    model.embed(documents[:2], "document")
    times = np.array(
        [
            (*seconds(lambda: model.embed(documents, "document")), *seconds(bare))
            for _ in range(rounds)
        ]
    )
    ours, our_cpu, theirs, their_cpu = times.T
    return {
        "embed_texts_per_second": float(len(documents) / np.median(ours)),
        "bare_texts_per_second": float(len(documents) / np.median(theirs)),
        "ratio": float(np.median(theirs / ours)),
        "cpu_ratio": float(np.median(their_cpu / our_cpu)),
        "peak_mb": peak(open_runtime, documents),
        "onnxruntime_peak_mb": peak(OnnxRuntime, documents),
    }


def peak(runtime: Callable[[], Runtime], documents: Sequence[str]) -> float:
    """Megabytes that a new process takes at most which embeds ``documents``."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_here, (runtime, documents))


def _peak_here(runtime: Callable[[], Runtime], documents: Sequence[str]) -> float:
    MiniLM(runtime).embed(documents, "document")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def bare_loop(documents: Sequence[str]) -> Callable[[], object]:
    """A loop over ready batches that does nothing but run the model."""
    tokenizer = wordpiece_backend()
    tokenizer.enable_truncation(MiniLM.max_tokens)
    ordered = sorted(tokenizer.encode_batch(list(documents)), key=len)
    options, feeds = onnxruntime.SessionOptions(), []
    options.intra_op_num_threads = 2
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(
        str(weights()), options, providers=["CPUExecutionProvider"]
    )
    for start in range(0, len(ordered), BARE_BATCH):
        batch = ordered[start : start + BARE_BATCH]
        width = len(batch[-1])
        ids = np.array([e.ids + [0] * (width - len(e)) for e in batch], dtype=np.int64)
        mask = (np.arange(width) < np.array([[len(e)] for e in batch])).astype(np.int64)
        feeds.append(
            {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        )
    return lambda: [session.run(None, feed) for feed in feeds]


def documents_of(folder: Path) -> list[str]:
    lines = (folder / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    return [f"{row['title']}\n\n{row['text']}" for row in map(json.loads, lines)]


def seconds(work: Callable[[], object]) -> tuple[float, float]:
    """What it takes, by the clock and of processors."""
    start, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start, time.process_time() - used
