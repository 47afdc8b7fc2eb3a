"""Vectors in PostgreSQL beside an index of FAISS in this process.

``python -m rag bench --only pgvector`` runs it, on a server of its own with the settings of the
tests. The 100,000 vectors are those of SciFact's abstracts, each several times with noise of half
its length, as those of texts on one subject are; so are the 200 queries. Milliseconds are those of
a search of one connection; ``equal`` is the share of SciFact's 300 questions whose 100 first
passages and their scores are the same, to the last bit, as from SQLite with FAISS: from PostgreSQL
with FAISS in the process, and with pgvector's scan, by vectors, words and both. Nothing is refused,
and ``hits`` says how many passages a question has.
"""

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from rag import KnowledgeBase, Recipe, Settings, Workspace, stores
from rag.services.services import export_vectors, import_vectors
from rag.storage import Database, vectors
from rag.stores.pgvector import PgVectors
from rag.types import Keys, Scores, Vectors
from tests.postgres import serving

PASSAGES, QUERIES, NOISE = 100_000, 200, 0.5
RECIPE = Recipe().with_fields(
    {
        "index.chunker": "whole",
        "index.vector_index": "flat",
        "search.threshold": None,
        "search.refuse": "off",
        "search.top_k": 100,
        "search.candidates": 100,
    }
)
Search = Callable[[Vectors, int], tuple[Keys, Scores]]


def measure(folder: Path) -> dict[str, float]:
    """Recall, milliseconds at the median and the 95th percentile, and seconds of making a graph."""
    with serving() as server, tempfile.TemporaryDirectory() as place:
        url = server.url(server.create())
        equal, rows = _rankings(Path(place), url, folder / "scifact")
        database = Database(url)
        try:
            return equal | _speeds(database, rows)
        finally:
            database.close()


def _rankings(place: Path, url: str, collection: Path) -> tuple[dict[str, float], Vectors]:
    here = Workspace(Settings.from_env({}, home=place / "sqlite"))
    given = {"TOUCHSTONE_DATABASE_URL": url, "TOUCHSTONE_VECTORS_URL": "pgvector"}
    there = Workspace(Settings.from_env(given, home=place / "postgresql"))
    given["TOUCHSTONE_VECTORS_URL"] = "process"
    in_process = Workspace(Settings.from_env(given, home=place / "in_process"))
    base = _imported(here, collection)
    embedder = here._services.models.embedder(RECIPE.index.embedder).id
    export_vectors(here._services.database, embedder, place / "vectors.npz")
    import_vectors(there._services.database, place / "vectors.npz")
    others = {"pgvector": _imported(there, collection), "faiss": in_process.base(collection.name)}
    equal: dict[str, float] = {}
    for mode in ("dense", "lexical", "hybrid"):
        recipe, questions = RECIPE.with_fields({"search.mode": mode}), _questions(collection)
        rankings = [_ranking(base, text, recipe) for text in questions]
        equal[f"hits_{mode}"] = float(np.mean([len(ranking) for ranking in rankings]))
        for name, other in others.items():
            found = [_ranking(other, text, recipe) for text in questions]
            same = [mine == theirs for mine, theirs in zip(rankings, found, strict=True)]
            equal[f"equal_{mode}_{name}"] = float(np.mean(same))
    with here._services.database.read() as connection:
        cached = b"".join(vectors.list_cached_vectors(connection, embedder).values())
    for workspace in (here, there, in_process):
        workspace.close()
    return equal, np.frombuffer(cached, np.float32).reshape(-1, 384)


def _imported(workspace: Workspace, folder: Path) -> KnowledgeBase:
    base = workspace.create(folder.name, RECIPE)
    workspace.jobs.run(base.documents.import_beir(folder, "test"))
    return base


def _questions(collection: Path) -> list[str]:
    lines = (collection / "queries.jsonl").read_text("utf-8").splitlines()
    texts = {row["_id"]: row["text"] for row in map(json.loads, lines)}
    judged = (collection / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]
    return [texts[name] for name in dict.fromkeys(line.split("\t")[0] for line in judged)]


def _ranking(base: KnowledgeBase, question: str, recipe: Recipe) -> list[tuple[str, float]]:
    return [(hit.chunk.id, hit.score) for hit in base.search(question, recipe).hits]


def _speeds(database: Database, rows: Vectors) -> dict[str, float]:
    dice = np.random.default_rng(6)
    keys, held = np.arange(PASSAGES, dtype=np.int64), _perturbed(dice, rows, PASSAGES)
    queries = _perturbed(dice, rows, QUERIES)
    scanned, graph = (PgVectors(database, kind) for kind in ("flat", "hnsw"))
    for name, server in (("scanned/", scanned), ("graph/", graph)):
        for start in range(0, PASSAGES, 4096):
            part = slice(start, start + 4096)
            server.upsert(name, keys[part], held[part])
    began = time.perf_counter()
    graph.settle("graph/")
    figures = {"graph_seconds": time.perf_counter() - began}
    faiss = stores.empty("flat", rows.shape[1]).added(keys, held)
    searches: dict[str, Search] = {
        "faiss_scan": faiss.search,
        "pgvector_scan": lambda query, k: scanned.search("scanned/", query, k),
        "pgvector_hnsw": lambda query, k: graph.search("graph/", query, k),
    }
    for k in (10, 100):
        truth: list[Keys] = []
        for name, search in searches.items():
            found, milliseconds = _timed(search, queries, k)
            truth = truth or found
            shared = zip(found, truth, strict=True)
            hits = [len(np.intersect1d(mine, theirs)) / k for mine, theirs in shared]
            figures |= {
                f"{name}_recall_{k}": float(np.mean(hits)),
                f"{name}_{k}_p50_ms": float(np.median(milliseconds)),
                f"{name}_{k}_p95_ms": float(np.percentile(milliseconds, 95)),
            }
    return figures


def _perturbed(dice: np.random.Generator, rows: Vectors, number: int) -> Vectors:
    chosen = rows[dice.integers(0, len(rows), number)]
    noise = dice.standard_normal(chosen.shape) * NOISE / np.sqrt(chosen.shape[1])
    moved = chosen + noise
    unit: Vectors = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float32)
    return unit


def _timed(search: Search, queries: Vectors, k: int) -> tuple[list[Keys], list[float]]:
    found, milliseconds = [], []
    for query in queries:
        began = time.perf_counter()
        found.append(search(query, k)[0])
        milliseconds.append(1000 * (time.perf_counter() - began))
    return found, milliseconds
