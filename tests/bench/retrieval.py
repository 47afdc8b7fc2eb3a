"""Hybrid retrieval over 100,000 passages, without the embedding of the question.

``python -m rag bench --only retrieval`` runs it. Next to it stands a bare FAISS search of the same
vectors in the same run, so that the figure can be read on any machine.
"""

import time
from collections.abc import Callable
from pathlib import Path

import faiss
import numpy as np

from rag import Chunk, Recipe, stores
from rag.lexical import LexicalIndex
from rag.retrieval import Corpus, retrieve
from rag.types import Vectors, chunk_key

PASSAGES, DIMENSION, QUESTIONS = 100_000, 384, 60
WORDS_PER_PASSAGE, VOCABULARY = 120, 60_000


def measure(
    _folder: Path, *, passages: int = PASSAGES, questions: int = QUESTIONS
) -> dict[str, float]:
    """Milliseconds at the median and the 95th percentile, and the ratio to bare FAISS."""
    dice = np.random.default_rng(5)
    vectors = _unit(dice.standard_normal((passages, DIMENSION), dtype=np.float32))
    texts = [_words(dice, 9) for _ in range(questions)]
    asked = dict(zip(texts, _unit(vectors[:questions] + 0.1), strict=True))
    chunks = {}
    for place in range(passages):
        chunk = _chunk(place, _words(dice, WORDS_PER_PASSAGE))
        chunks[chunk.key] = (chunk, "document")
    keys = np.array(list(chunks), np.int64)
    dense = stores.empty("flat", DIMENSION).added(keys, vectors)
    lexical = LexicalIndex.empty("english").added(
        (key, chunk.text) for key, (chunk, _) in chunks.items()
    )
    corpus = Corpus(
        _Known(asked),
        dense,
        lexical,
        lambda wanted: {key: chunks[key] for key in wanted},
        np.sort(keys),
    )
    bare = faiss.IndexFlatIP(DIMENSION)
    bare.add(vectors)
    recipe = Recipe()
    ours, peer = [], []
    for question in texts:
        ours.append(_milliseconds(lambda q=question: retrieve(q, recipe, corpus, 0.1)))
        peer.append(_milliseconds(lambda q=question: bare.search(asked[q][None], 100)))
    return {
        "hybrid_p50_ms": float(np.median(ours)),
        "hybrid_p95_ms": float(np.percentile(ours, 95)),
        "bare_faiss_p50_ms": float(np.median(peer)),
        "times_bare_faiss": float(np.median(ours) / np.median(peer)),
    }


class _Known:
    """Knows the questions already: their embedding is not what is measured."""

    id, dimension = "known", DIMENSION

    def __init__(self, asked: dict[str, Vectors]) -> None:
        self._asked = asked

    def embed(self, texts: list[str], _input_type: str) -> Vectors:
        return np.stack([self._asked[text] for text in texts])


def _unit(rows: Vectors) -> Vectors:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def _words(dice: np.random.Generator, number: int) -> str:
    """Words whose frequencies fall like those of a language (Zipf)."""
    ranks = np.minimum(dice.zipf(1.25, number), VOCABULARY)
    return " ".join(f"w{rank}" for rank in ranks)


def _chunk(place: int, text: str) -> Chunk:
    start, end = place * 1000, place * 1000 + len(text)
    return Chunk(chunk_key("d", start, end), "d", start, end, text, place)


def _milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)
