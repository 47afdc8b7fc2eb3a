"""nDCG@10 of each retriever on the sample's questions, by kind of question.

``python -m rag bench --only sample`` runs it.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rag import SAMPLE, KnowledgeBase, Settings, Workspace

MODES = ("dense", "lexical", "hybrid")
KINDS = ("paraphrase", "code", "two-passage", "table", "version", "plain")


def measure(_folder: Path) -> dict[str, float]:
    """Means over the answerable questions, thresholds off, by ``"KIND MODE"``."""
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        base, job = workspace.start_demo()
        workspace.jobs.run(job)
        by_mode = {mode: _by_kind(base, mode) for mode in MODES}
        workspace.close()
    kinds = ("all", *KINDS)
    return {f"{kind} {mode}": by_mode[mode][kind] for kind in kinds for mode in MODES}


def _by_kind(base: KnowledgeBase, mode: str) -> Mapping[str, float]:
    recipe = base.recipe().with_fields({"search.mode": mode, "search.threshold": None})
    figures: dict[str, list[float]] = defaultdict(list)
    for result in base.evaluator.evaluate(SAMPLE, recipe, (10,)).results:
        for kind in ("all", *result.tags) if result.metrics else ():
            figures[kind].append(result.metrics["ndcg@10"])
    return {kind: float(np.mean(values)) for kind, values in figures.items()}
