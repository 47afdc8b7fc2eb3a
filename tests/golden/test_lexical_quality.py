"""Ranking quality of BM25 on real collections, at the recipe's defaults."""

import json
from pathlib import Path

import pytest
import pytrec_eval

from rag.lexical import LexicalIndex


@pytest.mark.datasets
@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("collection", "analyzer", "least"),
    [
        ("scifact", "english", 0.685),
        ("cranfield", "english", 0.36),
        ("xquad_en", "english", 0.965),
        ("xquad_de", "german", 0.94),
        ("anthropic_docs", "english", 0.74),
    ],
)
def test_ndcg_at_10(datasets: Path, collection: str, analyzer: str, least: float) -> None:
    folder = datasets / collection
    rows = list(enumerate(_rows(folder / "corpus.jsonl")))
    index = LexicalIndex.empty(analyzer).added(
        (key, f"{row['title']}\n\n{row['text']}") for key, row in rows
    )
    names = [row["_id"] for _, row in rows]
    qrels = _qrels(folder / "qrels" / "test.tsv")
    run = {}
    for row in _rows(folder / "queries.jsonl"):
        keys, scores = index.search(row["text"], 100, k1=1.2, b=0.75)
        run[row["_id"]] = dict(zip((names[key] for key in keys), scores.tolist(), strict=True))
    judged = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(run)
    assert sum(one["ndcg_cut_10"] for one in judged.values()) / len(qrels) >= least


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    qrels: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        qrels.setdefault(question, {})[document] = int(grade)
    return qrels
