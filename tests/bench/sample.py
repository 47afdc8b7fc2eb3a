"""nDCG@10 of each retriever on the sample's questions, by kind of question.

Nothing is refused, and thresholds are off; for hybrid they are also at their default, without and
with exact codes. Without context passages are indexed as they are shown.

``python -m rag bench --only sample`` runs it.
"""

import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rag import SAMPLE, KnowledgeBase, Settings, Workspace

COLUMNS: Mapping[str, Mapping[str, Any]] = {
    "dense": {"search.mode": "dense"},
    "lexical": {"search.mode": "lexical"},
    "hybrid": {},
    "threshold": {"search.threshold": "auto", "search.exact_codes": False},
    "threshold, exact codes": {"search.threshold": "auto"},
    "dense, no context": {"search.mode": "dense", "index.context": "none"},
    "lexical, no context": {"search.mode": "lexical", "index.context": "none"},
    "hybrid, no context": {"index.context": "none"},
}
KINDS = ("paraphrase", "code", "two-passage", "table", "version", "plain")


def measure(_folder: Path) -> dict[str, float]:
    """Means over the answerable questions, by ``"KIND COLUMN"``."""
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        base, job = workspace.start_demo()
        workspace.jobs.run(job)
        plain = base.recipe().with_fields({"index.context": "none"})
        workspace.jobs.run(base.documents.build(plain.index))
        columns = {name: _by_kind(base, fields) for name, fields in COLUMNS.items()}
        workspace.close()
    kinds = ("all", *KINDS)
    return {f"{kind} {name}": columns[name][kind] for kind in kinds for name in COLUMNS}


def _by_kind(base: KnowledgeBase, fields: Mapping[str, Any]) -> Mapping[str, float]:
    recipe = base.recipe().with_fields({"search.threshold": None, "search.refuse": "off", **fields})
    figures: dict[str, list[float]] = defaultdict(list)
    for result in base.runs.evaluate(SAMPLE, recipe, (10,)).results:
        for kind in ("all", *result.tags) if result.answerable else ():
            figures[kind].append(result.metrics["ndcg@10"])
    return {kind: float(np.mean(values)) for kind, values in figures.items()}
