"""Fusions of the same candidates: scores stretched over them, and scores that they leave alone.

``python -m rag bench --only fusion`` prints nDCG@10 of new knowledge bases with either fusion on
four collections, threshold and refusal off, and the p-value of their difference over questions. It
also prints nDCG@10 with the formulas of engines, which stretch each list alone.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rag import SAMPLE, KnowledgeBase, Settings, Workspace

COLLECTIONS = ("cranfield", "xquad_en", "anthropic_docs", SAMPLE)
METRIC = "ndcg@10"
UNCUT: Mapping[str, Any] = {"search.threshold": None, "search.refuse": "off"}
ENGINES = (
    *("elasticsearch_linear", "opensearch_min_max", "weaviate_relative_score"),
    "qdrant_rrf",
)
SATURATION: Mapping[str, Any] = {"search.fusion": "saturation", "search.dense_weight": 0.5}


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """nDCG@10 and p-values by ``"COLLECTION | COLUMN"``."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        for name in collections:
            figures |= compared(_filled(workspace, folder, name))
        workspace.close()
    return figures


def compared(base: KnowledgeBase) -> dict[str, float]:
    """All fusions on one knowledge base, whose question set has its name."""
    weighted = base.recipe().with_fields(UNCUT)
    recipes = [weighted, weighted.with_fields(SATURATION)]
    recipes += [weighted.with_fields({"search.fusion": fusion}) for fusion in ENGINES]
    figures = base.tuning.tuner(base.name).figures(recipes, (METRIC,))
    comparison = figures.compare(METRIC, 1, 0)
    return {
        f"{base.name} | weighted": comparison.baseline,
        f"{base.name} | saturation": comparison.mean,
        f"{base.name} | p": comparison.p,
    } | {
        f"{base.name} | {fusion}": figures.compare(METRIC, number, 0).mean
        for number, fusion in enumerate(ENGINES, 2)
    }


def _filled(workspace: Workspace, folder: Path, name: str) -> KnowledgeBase:
    if name == SAMPLE:
        base, job = workspace.start_demo()
    else:
        base = workspace.create(name)
        job = base.documents.import_beir(folder / name, "test")
    workspace.jobs.run(job)
    return base
