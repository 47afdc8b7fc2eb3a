"""The default embedder retrieves as well as its authors' model does."""

import json
from pathlib import Path

import numpy as np
import pytest

from rag.providers.minilm import MiniLM
from tests.measures import figures, ordered

KNOWN_NDCG = 0.944
"""all-MiniLM-L6-v2 on the English paragraphs and questions of XQuAD, nDCG@10."""


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.datasets
@pytest.mark.timeout(1200)
def test_xquad(datasets: Path) -> None:
    folder, model = datasets / "xquad_en", MiniLM()
    qrels: dict[str, dict[str, int]] = {}
    for row in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        question, document, grade = row.split("\t")
        qrels.setdefault(question, {})[document] = int(grade)
    corpus, questions = _rows(folder / "corpus.jsonl"), _rows(folder / "queries.jsonl")
    asked = [row for row in questions if row["_id"] in qrels]
    texts = [f"{row['title']}\n\n{row['text']}" for row in corpus]
    scores = model.embed([row["text"] for row in asked], "query") @ model.embed(texts, "document").T
    run = {
        row["_id"]: {corpus[place]["_id"]: float(line[place]) for place in np.argsort(-line)[:10]}
        for row, line in zip(asked, scores, strict=True)
    }
    found = float(np.mean(figures(qrels, ordered(run), ["ndcg@10"])["ndcg@10"]))
    assert found == pytest.approx(KNOWN_NDCG, abs=0.003)


def _rows(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
