"""The table of stages: what it says is what happens, and a new stage is a row and a function."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

from pages.components.inspector.candidates import candidates, cuts, steps
from rag import (
    Dropped,
    InvalidInput,
    KnowledgeBase,
    Recipe,
    SearchRecipe,
    StageName,
    StageRow,
    Workspace,
    stage_rows,
)
from rag.retrieval import Candidates, Corpus, SearchQuery, Timeline, select, stages
from rag.retrieval.hits import Hits, hits_at
from tests.verbs import output_of
from tests.workspaces import QUICK, add, workspace_at

QUESTION = "When are pumps checked?"
LEAST = 40

# The whole of a new stage: what it does, and what is said of it.


def without_short(
    asked: SearchQuery, found: Candidates, recipe: SearchRecipe, corpus: Corpus, timeline: Timeline
) -> tuple[SearchQuery, Candidates]:
    """Drops passages of fewer than ``LEAST`` characters."""
    passages = corpus.lookup(found.keys.tolist())
    short = np.array([len(passages[key][0].text) < LEAST for key in found.keys.tolist()], np.bool_)
    plain = recipe.model_copy(update={"duplicates": None, "mmr": None})
    hits = Hits(found, select(found, plain, None), plain, corpus.lookup)
    dropped = [
        Dropped(hit, f"{len(hit.chunk.text)} characters, {LEAST} are asked for")
        for hit in hits_at(hits.at, np.flatnonzero(short))
    ]
    left = len(found) - len(dropped)
    timeline.passed("too_short", len(found), left, f"at least {LEAST} characters", dropped)
    columns = {field.name: getattr(found, field.name) for field in fields(found)}
    kept = {
        name: values[~short] for name, values in columns.items() if isinstance(values, np.ndarray)
    }
    return asked, replace(found, **kept)


TOO_SHORT = StageRow(
    "too_short",
    label="long enough",
    help="Choose to see what was too short.",
    dropped="Too short",
    run=without_short,
)


@pytest.fixture
def base(home: Path) -> Iterator[KnowledgeBase]:
    workspace = workspace_at(home)
    made = _filled(workspace)
    yield made
    workspace.close()


def _filled(workspace: Workspace) -> KnowledgeBase:
    base = workspace.create("notes", QUICK)
    long = "Pumps are checked every spring, before the season of watering begins."
    add(workspace, base, {"a.md": long, "b.md": "Pumps are checked.", "c.md": f"Valves. {long}"})
    label = {"document": "a.md", "quote": "every spring"}
    rows = [{"id": "q", "text": QUESTION, "evidence": [label]}]
    base.questions.import_file("checks", "checks.jsonl", "\n".join(map(json.dumps, rows)))
    return base


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    place = [row.name for row in stages.STAGES].index("rerank")
    rows = (*stages.STAGES[:place], TOO_SHORT, *stages.STAGES[place:])
    monkeypatch.setattr(stages, "STAGES", rows)


def _names() -> list[str]:
    return [name for literal in get_args(StageName) for name in get_args(literal)]


def test_every_stage_has_one_row_and_its_fields_are_those_of_recipes():
    assert [row.name for row in stage_rows()] == _names()
    read = [field for row in stage_rows() for field in row.fields]
    assert set(read) <= set(SearchRecipe.model_fields)
    assert len(read) == len(set(read))
    # All steps that are off by default belong to a stage.
    assert set(SearchRecipe.model_fields) - set(read) == {
        *("mode", "relevance", "candidates", "k1", "b", "fuzzy", "prefix")
    }


BY_NEED = ("tool", "merge", "language")
"""Stages of recipes that name tools or models, of several sources, and of other languages."""


def test_stages_pass_in_the_order_of_the_table(base):
    steps: dict[str, Any] = {"spelling": True, "rewrite": True, "expansions": 1, "hyde": True}
    steps |= {"documents": ["*"], "feedback": 2, "feedback_terms": 2, "rerank": "chat"}
    steps |= {"duplicates": 0.9, "mmr": 0.5}
    recipe = QUICK.with_fields({f"search.{name}": value for name, value in steps.items()})
    passed = [stage.name for stage in base.search(QUESTION, recipe).stages]
    assert passed == [name for name in _names() if name not in BY_NEED]


def test_a_new_stage_is_in_the_trace_and_in_the_json_of_a_search(base, registered, capsys):
    trace = base.search(QUESTION, QUICK)
    names = [stage.name for stage in trace.stages]
    assert names[names.index("fusion") :][:3] == ["fusion", "too_short", "refuse"]
    assert [hit.document for hit in trace.hits] == ["a.md", "c.md"]
    told = output_of(capsys, "search", "notes", QUESTION)
    (stage,) = [stage for stage in told["stages"] if stage["name"] == "too_short"]
    assert (stage["taken"], stage["given"], stage["note"]) == (3, 2, "at least 40 characters")
    assert [drop["reason"] for drop in stage["dropped"]] == ["18 characters, 40 are asked for"]


def test_a_new_stage_explains_what_it_dropped(base, registered):
    explainer = base.explanations.explain(QUESTION, QUICK)
    (lost,) = [
        finding.standing
        for finding in explainer.find("Pumps are checked.")
        if finding.standing.document == "b.md"
    ]
    assert lost.summary == "lost at too-short: 18 characters, 40 are asked for"
    assert [step.outcome for step in lost.steps] == ["found", "found", "kept", "lost"]
    # What would change it is found by searching, as candidates alone do not tell.
    changes = explainer.changes(lost.chunk.key)
    assert {change.exact for change in changes} == {False}
    assert {change.value for change in changes} == {None}


def test_a_new_stage_is_drawn(base, registered):
    trace = base.search(QUESTION, QUICK)
    assert [
        (step.label, step.count, step.filters) for step in steps(trace) if step.name == "too_short"
    ] == [("long enough", 2, True)]
    assert "too_short" in cuts()
    assert [each.hit.document for each in candidates(trace) if each.group == "too_short"] == [
        "b.md"
    ]


def test_a_new_stage_is_measured_by_the_pipeline(base, registered, tmp_path, capsys):
    with pytest.raises(InvalidInput, match=r"search\.too_short cannot be measured while a slider"):
        base.tuning.tuner("checks").fetch(QUICK)
    grid = tmp_path / "grid.json"
    grid.write_text('{"search.mode": ["dense", "lexical", "hybrid"], "search.top_k": [1, 2]}')
    swept = output_of(capsys, "sweep", "notes", "checks", "--grid", str(grid), "--verify", "6")
    assert swept["verified"] == 6
    for result in swept["results"]:
        recipe = QUICK.with_fields(result["set"])
        assert result["metrics"]["mrr@10"] == _evaluated(base, recipe)["mrr@10"]


def _evaluated(base: KnowledgeBase, recipe: Recipe) -> dict[str, float]:
    return dict(base.runs.evaluate("checks", recipe).run.metrics)
