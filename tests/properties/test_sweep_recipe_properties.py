"""Whatever fields a grid has, a sweep gives the figures of the ordinary pipeline."""

import json
from collections.abc import Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from rag import Grid, Hit, KnowledgeBase, SearchRecipe, Sweeper
from rag.chunking import estimates
from rag.evaluation.calibration import Calibration
from rag.evaluation.measuring import measured
from rag.evaluation.reliability import Quality
from rag.evaluation.sweeping import CONTEXT
from rag.search.corpus import BM25_FIELDS
from rag.storage import registries
from rag.storage.registries import CalibrationRow
from tests.recipes import choices
from tests.workspaces import QUICK, add, workspace_at

SET, CUTOFFS, MOST = "questions", (1, 3), 24
BASE = QUICK.with_fields({"index.chunk_size": 16, "search.top_k": 3})
PAGE = "<html><body><h1>Pumps</h1><p>{}</p><h2>Seals</h2><p>{}</p></body></html>"
NOISE = "The Hollin pump makes a grinding noise when its bearing is dry."
COPY = "Unused leave may be carried over until 30 June."
DOCUMENTS = {
    "leave.md": f"# Leave\n\n{COPY}\n\n## Sick leave\n\nSick leave is reported by telephone.",
    "old/leave.txt": f"{COPY}\n\nEverybody has 29 days of annual leave in a calendar year.",
    "pump.html": PAGE.format(NOISE, "A leaking seal is replaced, and so are sealing rings."),
    "pumps.txt": f"{NOISE}\n\nGrease the bearings every 500 hours.\n\nPumping needs greased seals.",
    "travel.txt": "Train journeys are second class.\n\nHotels may cost 140 euros a night.",
    "parts.txt": "Order seal TX-4410-B for it.\n\nThe seal TX-4420-A is no longer made.",
}
ASKED = [
    ("How long may unused leave be carried over?", [{"document": "leave.md", "quote": COPY}]),
    ("Why does the pmup make a grindng noise?", [{"document": "pump.html", "quote": NOISE}]),
    (
        "bearing grease in the yearly vacation",
        [{"document": "pumps.txt"}, {"document": "pump.html", "grade": 2}],
    ),
    ("What may a hotel cost?", [{"document": "travel.txt", "grade": 3}]),
    (
        "Is there any TX-4420-A left?",
        [{"document": "parts.txt", "quote": "TX-4420-A is no"}],
    ),
]

UNSWEPT = {"tools", "expansions", "hyde", "rerank"}
"""Refused, or steps that ask a model."""
VALUES: dict[str, list[Any]] = {
    **{name: choices(SearchRecipe, name) for name in SearchRecipe.model_fields.keys() - UNSWEPT},
    # Values that tell recipes apart on so few documents, and words that filters know.
    "top_k": [1, 2, 9],
    "threshold": [None, "auto", 0.0, 0.2],
    "candidates": [1, 3, 50],
    "feedback": [0, 1, 3],
    "documents": [[], ["leave*", "pump?.*"], ["nothing"]],
    "types": [[], ["txt"], ["text/html", "md"]],
    "tags": [[], ["machines"]],
    "pages": ["", "1-3"],
    "after": ["", "2000-01-01"],
    "before": ["", "2000-01-01"],
    "heading": ["", "leave"],
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> KnowledgeBase:
    """Documents with copies, headings, tags and misspelt questions, and a calibration by hand."""
    return _filled(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def sweeper(base: KnowledgeBase) -> Sweeper:
    """One for all examples: what it keeps from one must be right for the next."""
    return base.tuning.sweeper(SET)


def _filled(home: Path) -> KnowledgeBase:
    workspace = workspace_at(home)
    base = workspace.create("steps", BASE)
    assert set(add(workspace, base, DOCUMENTS)) == {"added"}
    base.documents.tag("pump.html", ["machines"])
    base.documents.tag("pumps.txt", ["machines", "old"])
    rows = [
        {"id": f"q{number}", "text": text, "evidence": evidence}
        for number, (text, evidence) in enumerate(ASKED)
    ]
    rows.append({"id": "none", "text": "Who won the cup in 1954?", "answerable": False})
    base.questions.import_file(SET, "questions.jsonl", "\n".join(map(json.dumps, rows)))
    learned = Calibration({"cosine": 4.0, "bm25": 0.8}, -3.0).to_dict()
    bm25 = {name: getattr(BASE.search, name) for name in BM25_FIELDS}
    row = CalibrationRow(
        question_set=SET,
        set_version=1,
        questions=5,
        model={**learned, "bm25": bm25},
        quality={"scores": {each.name: 0.1 for each in fields(Quality)}, "bins": []},
        threshold=0.1,
        created=datetime.now(UTC),
    )
    with base._services.database.write() as connection:
        registries.replace_calibration(connection, base.id, BASE.index.hash, row)
    return base


@st.composite
def _grids(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Fields of the recipe that a grid is laid around, and the grid."""
    names = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=9, unique=True))
    chosen, size = dict[str, list[Any]](), 1
    for name in names:
        most = min(3, MOST // size)
        chosen[name] = draw(
            st.lists(st.sampled_from(VALUES[name]), min_size=1, max_size=most, unique_by=repr)
        )
        size *= len(chosen[name])
    fixed = {f"search.{name}": values[0] for name, values in chosen.items() if len(values) == 1}
    grid = {f"search.{name}": values for name, values in chosen.items() if len(values) > 1}
    if "probability" in chosen.get("relevance", []):
        assume(not set(BM25_FIELDS) & set(chosen))  # a calibration is of one BM25
    return fixed, grid


@given(_grids())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_sweep_equals_the_pipeline(base, sweeper, drawn):
    fixed, grid = drawn
    recipes = Grid.parse(grid, BASE.with_fields(fixed))
    sweep = sweeper.sweep(recipes, CUTOFFS, with_context=True)
    assert sweeper.verify(sweep, 6) == []
    number = len(recipes) - 1
    recipe = recipes.recipe(number)
    shown = [base.search(question.text, recipe).hits for question in sweeper.questions]
    lengths = [sum(estimates.tokens(hit.chunk.text) for hit in hits) for hits in shown]
    assert sweep.metrics(number)[CONTEXT] == np.mean(lengths)
    seen = sweeper.sweep(recipes, CUTOFFS, as_shown=True).metrics(number)
    judge = sweeper.source(recipe.index).judge
    ranked = [
        judge.judge(question, *_ranking(hits), max(CUTOFFS))
        for question, hits in zip(sweeper.questions, shown, strict=True)
    ]
    assert seen == measured(ranked, CUTOFFS)[1]


def _ranking(hits: Sequence[Hit]) -> tuple[np.ndarray, np.ndarray]:
    keys = np.array([int(hit.chunk.id, 16) for hit in hits], np.int64)
    return keys, np.array([hit.score for hit in hits])
