"""Learned fusions on unseen questions and unseen documents, against the fusion of the recipe.

``python -m rag bench --only learned_fusion`` learns a linear fusion and one by trees from the
labels of each collection, one passage for each document, thresholds and refusal off. Printed are
the labelled questions, nDCG@10 of the recipe, and for both passports the mean difference, its
p-value, and whether the test shows a gain (1) or not (0).
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from rag import FEWEST_QUESTIONS, KnowledgeBase, Recipe, Settings, Workspace
from rag.tuning.learning.passports import Kind

COLLECTIONS = ("scifact", "cranfield", "xquad_en", "anthropic_docs")
KINDS: Sequence[Kind] = ("linear", "trees")
RECIPE = Recipe().with_fields(
    {"index.chunker": "whole", "search.threshold": None, "search.refuse": "off"}
)


def measure(folder: Path, *, collections: Sequence[str] = COLLECTIONS) -> dict[str, float]:
    """Figures by ``"COLLECTION, KIND | COLUMN"``; a kind that needs more labels is left out."""
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as home:
        workspace = Workspace(Settings.from_env({}, home=Path(home)))
        for name in collections:
            base = workspace.create(name, RECIPE)
            workspace.jobs.run(base.documents.import_beir(folder / name, "test"))
            for kind in KINDS:
                figures |= _learned(base, kind)
        workspace.close()
    return figures


def _learned(base: KnowledgeBase, kind: Kind) -> dict[str, float]:
    (question_set,) = base.questions.list_all()
    if question_set.questions < FEWEST_QUESTIONS[kind]:
        return {}
    outcome = base.tuning.learned_fusions.learn(question_set.name, RECIPE, kind)
    row = f"{base.name}, {kind}"
    figures: dict[str, float] = {f"{row} | questions": outcome.questions}
    for passport in outcome.passports:
        comparison = passport.comparison
        figures[f"{row} | recipe"] = comparison.baseline
        figures[f"{row} | unseen {passport.unit}"] = comparison.difference
        figures[f"{row} | unseen {passport.unit}, p"] = comparison.p
        figures[f"{row} | unseen {passport.unit}, gain"] = float(passport.gains)
    return figures
