"""Recipes per second of a sweep over SciFact, once its candidates are fetched.

``python -m rag bench --only sweep`` runs it. Random unit vectors stand for an embedding model,
mixed so that questions, relevant documents and passages that share words are near each other: what
the arithmetic costs depends on how far the two retrievers agree.
"""

import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rag import Question, SearchRecipe
from rag.evaluation.judging import Judge
from rag.evaluation.metrics import MEASURES
from rag.evaluation.sweeping import CandidateTable
from rag.evaluation.sweeping import measure as measure_recipes
from rag.lexical import LexicalIndex
from rag.retrieval import Candidates
from rag.retrieval.candidates import NOT_FOUND
from rag.types import Evidence, Keys, chunk_key

DEPTH, DIMENSION, WORDS_PER_PASSAGE = 100, 64, 140
NAMES = ("ndcg@10", "mrr@10", "recall@10", "precision@5")
WEIGHTS = np.linspace(0, 1, 101).tolist()
THRESHOLDS = (None, *np.linspace(0.1, 0.9, 9).tolist())
ROUNDS = 3
FEW = 30
AT_ONCE = 200


def measure(folder: Path, *, rounds: int = ROUNDS) -> dict[str, float]:
    """Recipes per second (best of three) for grids of different shapes."""
    table = _table(folder / "scifact")
    some = table.only(np.arange(len(table.questions)) < FEW)
    every = [f"{name}@{k}" for name in MEASURES for k in (1, 3, 5, 10, 20)]
    mixed = [
        SearchRecipe(mode=mode, fusion=fusion, dense_weight=weight, candidates=depth)
        for mode in ("dense", "lexical", "hybrid")
        for fusion in ("weighted", "rrf")
        for depth in (20, 50, 100)
        for weight in WEIGHTS[::5]
    ]

    def rate(of: CandidateTable, names: Sequence[str], searches: list[SearchRecipe]) -> float:
        recipes = [
            search.model_copy(update={"threshold": limit})
            for search in searches
            for limit in THRESHOLDS
        ]
        seconds = []
        for _ in range(rounds):
            started = time.perf_counter()
            for start in range(0, len(recipes), AT_ONCE):
                measure_recipes(of, recipes[start : start + AT_ONCE], names)
            seconds.append(time.perf_counter() - started)
        return len(recipes) / min(seconds)

    return {
        "questions": float(len(table.questions)),
        "candidates_per_question": float(table.inside.sum(axis=1).mean()),
        "recipes_per_second_101_weights_10_thresholds": rate(table, NAMES, _weights(WEIGHTS)),
        "recipes_per_second_mixed_modes_10_thresholds": rate(table, NAMES, mixed),
        "recipes_per_second_35_metrics": rate(table, every, _weights(WEIGHTS)),
        "recipes_per_second_35_metrics_30_questions": rate(some, every, _weights(WEIGHTS)),
    }


def _weights(weights: list[float]) -> list[SearchRecipe]:
    return [SearchRecipe(dense_weight=weight) for weight in weights]


def _table(folder: Path) -> CandidateTable:
    texts = {row["_id"]: f"{row['title']} {row['text']}" for row in _rows(folder / "corpus.jsonl")}
    asked = {row["_id"]: row["text"] for row in _rows(folder / "queries.jsonl")}
    keys, passages = _passages(texts)
    lexical = LexicalIndex.empty("english").added(passages.items())
    known = np.sort(np.array(list(passages), np.int64))
    dice = np.random.default_rng(1)
    topics = dict(zip(texts, dice.standard_normal((len(texts), DIMENSION)), strict=True))
    owners = {int(key): name for name, held in keys.items() for key in held}
    vectors = np.stack([topics[owners[key]] for key in known.tolist()])
    vectors = _unit(vectors + dice.standard_normal(vectors.shape))
    questions, found = [], []
    for name, grades in _qrels(folder / "qrels" / "test.tsv").items():
        evidence = tuple(Evidence(document, 0, None, grade) for document, grade in grades.items())
        questions.append(Question(name, asked[name], evidence))
        topic = np.mean([topics[document] for document in grades], axis=0)
        query = _unit(_unit(topic) + 0.12 * dice.standard_normal(DIMENSION))
        bm25 = lexical.scores(asked[name], known, k1=1.2, b=0.75)
        cosine = 0.6 * (vectors @ query) + 0.35 * bm25 / bm25.max()
        found.append(_found(known, cosine, bm25))
    return CandidateTable.of(questions, found, Judge({}, keys))


def _passages(texts: dict[str, str]) -> tuple[dict[str, Keys], dict[int, str]]:
    keys, passages = {}, {}
    for name, text in texts.items():
        words = text.split()
        starts = range(0, len(words), WORDS_PER_PASSAGE)
        cut = {
            chunk_key(name, start, start + 1): " ".join(words[start : start + WORDS_PER_PASSAGE])
            for start in starts
        }
        keys[name] = np.array(list(cut), np.int64)
        passages |= cut
    return keys, passages


def _found(keys: Keys, cosine: np.ndarray, bm25: np.ndarray) -> Candidates:
    ranks = []
    for scores in (cosine, bm25):
        best = np.lexsort((keys, -scores))[:DEPTH]
        best = best[scores[best] > 0]
        ranks.append(np.full(len(keys), NOT_FOUND, np.int32))
        ranks[-1][best] = np.arange(len(best))
    at = np.flatnonzero(np.minimum(*ranks) != NOT_FOUND)
    return Candidates(keys[at], cosine[at], bm25[at], ranks[0][at], ranks[1][at])


def _unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        qrels.setdefault(question, {})[document] = int(grade)
    return qrels
