"""Verdicts of labels that the bounds of unjudged hits would leave undecided.

``python -m rag bench --only unjudged`` runs it: seven recipes, one passage for each document,
thresholds off, each pair compared in three metrics by the labels of the collection.
"""

import itertools
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag import KnowledgeBase, Recipe, Settings, Workspace

COLLECTIONS = ("cranfield", "scifact")
METRICS = ("ndcg@10", "mrr@10", "recall@10")
RECIPES: Mapping[str, Mapping[str, Any]] = {
    "dense": {"search.mode": "dense"},
    "lexical": {"search.mode": "lexical"},
    "lexical, b 0.4": {"search.mode": "lexical", "search.b": 0.4},
    "lexical, k1 0.6": {"search.mode": "lexical", "search.k1": 0.6},
    "hybrid": {},
    "hybrid, dense weight 0.3": {"search.dense_weight": 0.3},
    "hybrid by reciprocal ranks": {"search.fusion": "rrf"},
}
RECIPE = Recipe().with_fields(
    {
        "index.embedder": "wordllama",
        "index.chunker": "whole",
        "search.threshold": None,
        "search.refuse": "off",
    }
)


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Numbers of verdicts by ``"COLLECTION | KIND"``, and one difference with its bounds."""
    counts: dict[str, float] = {}
    for name in collections:
        with tempfile.TemporaryDirectory() as home:
            workspace = Workspace(Settings.from_env({}, home=Path(home)))
            base = workspace.create(name, RECIPE)
            workspace.jobs.run(base.documents.import_beir(folder / name, "test"))
            values = _verdicts(base, name)
            counts |= {f"{name} | {kind}": float(value) for kind, value in values.items()}
            workspace.close()
    return counts


def _verdicts(base: KnowledgeBase, set_name: str) -> dict[str, float]:
    runs = [
        base.runs.evaluate(set_name, RECIPE.with_fields(fields), (10,)).run.id
        for fields in RECIPES.values()
    ]
    kinds: dict[str, float] = {
        "decided by labels": 0,
        "undecided by the check": 0,
        "undecided by the bounds": 0,
    }
    for (run, other), metric in itertools.product(itertools.combinations(runs, 2), METRICS):
        comparison = base.runs.paired(run, other, metric).figures
        if comparison.verdict_by_labels not in ("better", "worse"):
            continue
        pooled = base.runs.pooled_difference(run, other, metric)
        assert pooled.bounds is not None
        low, high = pooled.bounds
        kinds["decided by labels"] += 1
        kinds["undecided by the check"] += comparison.verdict == "undecided"
        kinds["undecided by the bounds"] += low <= 0.0 <= high
    return kinds | _example(base, *runs[:2])


def _example(base: KnowledgeBase, dense: str, lexical: str) -> dict[str, float]:
    """The difference between dense and lexical search in nDCG@10, and its bounds."""
    pooled = base.runs.pooled_difference(dense, lexical, METRICS[0])
    assert pooled.bounds is not None
    low, high = pooled.bounds
    difference = base.runs.paired(dense, lexical, METRICS[0]).figures.difference
    return {"dense - lexical": difference, "lower bound": low, "upper bound": high}
