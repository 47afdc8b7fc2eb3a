"""The lexical index beside bm25s and rank_bm25, in one process, on SciFact.

``python -m rag bench --only lexical`` runs it.
"""

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import bm25s
import numpy as np
from rank_bm25 import BM25Okapi

from rag.lexical import LexicalIndex

_Q = TypeVar("_Q")

K = 100
K1, B = 1.2, 0.75
SLOW_QUERIES = 20


def measure(folder: Path, *, k: int = K, slow_queries: int = SLOW_QUERIES) -> dict[str, float]:
    """Milliseconds per query (median of 3 interleaved rounds) and their ratios.

    ``ours`` includes cutting the question into terms; the others are given its terms.
    """
    texts = [
        f"{row['title']}\n\n{row['text']}" for row in _rows(folder / "scifact" / "corpus.jsonl")
    ]
    queries = [row["text"] for row in _rows(folder / "scifact" / "queries.jsonl")][:300]
    index = LexicalIndex.empty("english").added(enumerate(texts))
    corpus = [index.analyzer.tokens(text) for text in texts]
    asked = [index.analyzer.query_tokens(query) for query in queries]
    fast = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy")
    fast.index(corpus, show_progress=False)
    slow = BM25Okapi(corpus)

    def ours(query: str) -> None:
        index.search(query, k, k1=K1, b=B)

    def bm25s_one(terms: list[str]) -> None:
        fast.retrieve([terms], k=k, show_progress=False)

    def rank_bm25_one(terms: list[str]) -> None:
        np.argpartition(slow.get_scores(terms), -k)

    rounds = [
        (
            _milliseconds(ours, queries),
            _milliseconds(bm25s_one, asked),
            _milliseconds(rank_bm25_one, asked[:slow_queries]),
        )
        for _ in range(3)
    ]
    mine, peer, naive = np.median(np.array(rounds), axis=0)
    return {
        "ours_ms": mine,
        "bm25s_ms": peer,
        "rank_bm25_ms": naive,
        "times_bm25s": mine / peer,
        "times_faster_than_rank_bm25": naive / mine,
    }


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _milliseconds(search: Callable[[_Q], None], queries: Sequence[_Q]) -> float:
    started = time.perf_counter()
    for query in queries:
        search(query)
    return 1000 * (time.perf_counter() - started) / len(queries)


if __name__ == "__main__":
    json.dump(measure(Path(sys.argv[1])), sys.stdout, indent=1)
