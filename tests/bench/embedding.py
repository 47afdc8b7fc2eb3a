"""How much of the bare model's speed the default embedder keeps, on abstracts of SciFact.

``python -m rag bench --only embedding`` runs it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rag.providers.minilm import MiniLM, open_session
from rag.providers.tokens import wordpiece_backend

BARE_BATCH = 16
TEXTS, ROUNDS = 128, 5
"""Both loops take turns, so that other work on the machine slows both alike."""


def measure(folder: Path) -> dict[str, float]:
    """``embed_texts_per_second``, ``bare_texts_per_second`` and their ``ratio`` (median of rounds).

    The bare loop gets its batches tokenized, sorted by length and padded beforehand; it only runs
    the model. Ours does everything, from text to unit vectors.
    """
    documents = documents_of(folder / "scifact")[:TEXTS]
    model, bare = MiniLM(), bare_loop(documents)
    model.embed(documents[:2], "document")
    rounds = [
        (seconds(lambda: model.embed(documents, "document")), seconds(bare)) for _ in range(ROUNDS)
    ]
    ours, theirs = np.median(np.array(rounds), axis=0)
    return {
        "embed_texts_per_second": float(len(documents) / ours),
        "bare_texts_per_second": float(len(documents) / theirs),
        "ratio": float(np.median([theirs / ours for ours, theirs in rounds])),
    }


def bare_loop(documents: Sequence[str]) -> Callable[[], object]:
    """A loop over ready batches that does nothing but run the model."""
    tokenizer = wordpiece_backend()
    tokenizer.enable_truncation(MiniLM.max_tokens)
    ordered = sorted(tokenizer.encode_batch(list(documents)), key=len)
    session, feeds = open_session(2), []
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


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
