"""Fixes of failed questions, measured on questions that did not choose them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rag import Workspace
from tests.workspaces import QUICK, add, workspace_at

WORDS = QUICK.with_fields(
    {
        "search.mode": "lexical",
        "search.spelling": False,
        "search.top_k": 1,
        "index.chunk_size": 60,
    }
)


def _line(name: str, text: str, document: str, quote: str) -> dict[str, Any]:
    return {"id": name, "text": text, "evidence": [{"document": document, "quote": quote}]}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return workspace_at(tmp_path_factory.mktemp("home"))


def test_a_fix_is_told_by_what_all_held_out_questions_gain_and_lose(
    workspace: Workspace,
) -> None:
    base = workspace.create("rooms", WORDS)
    names = [f"{letter}ellow{letter}" for letter in "bcdfghjklmnprstw"]
    add(workspace, base, {f"{name}.md": f"The room {name} has a projector." for name in names})
    lines = [
        _line(name, f"What does {name} have?", f"{name}.md", f"The room {name} has a projector.")
        for name in names
    ]
    base.exchange.import_file("rooms", "x.jsonl", "\n".join(map(json.dumps, lines)))
    strict = WORDS.with_fields({"search.threshold": 1.0})
    diagnosis = base.diagnoses.diagnose("rooms", strict)
    assert diagnosis.causes == {"threshold": 16}
    (fix,) = diagnosis.trials.fixes
    assert fix.changes == {"search.threshold": None}
    assert (fix.tuning, fix.tuning_gain, fix.comparison.difference) == (8, 1.0, 1.0)
    assert (fix.comparison.won, fix.comparison.lost, len(fix.rescued)) == (8, 0, 8)
    assert fix.comparison.verdict == "better"


def test_unanswerable_questions_that_a_fix_does_not_move_have_no_ndcg(
    workspace: Workspace,
) -> None:
    base = workspace.create("halls", WORDS)
    names = [f"{letter}ellow{letter}" for letter in "bcdfghjklmnprstw"]
    add(workspace, base, {f"{name}.md": f"The hall {name} has a projector." for name in names})
    lines = [
        _line(name, f"What does {name} have?", f"{name}.md", f"The hall {name} has a projector.")
        for name in names
    ]
    near = [
        {"id": f"cost {name}", "text": f"What does {name} cost?", "answerable": False}
        for name in names[:8]
    ]
    base.exchange.import_file("halls", "x.jsonl", "\n".join(map(json.dumps, lines + near)))
    several = WORDS.with_fields({"search.top_k": 3})
    filtered = several.with_fields({"search.documents": [f"{name}.md" for name in names[:8]]})
    (fix,) = base.diagnoses.diagnose("halls", filtered).trials.fixes
    assert fix.causes == ("filter",)
    assert set(fix.comparison.differences) < set(names)
    assert (fix.comparison.mean, fix.without_ndcg) == (1.0, 0)
    assert "Among them" not in fix.sentence
    assert fix.tuning + len(fix.comparison.differences) == 16

    strict = several.with_fields({"search.threshold": 1.0})  # for near misses, the fix loses
    (fix,) = base.diagnoses.diagnose("halls", strict).trials.fixes
    near_misses = set(fix.comparison.differences) - set(names)
    assert fix.without_ndcg == len(near_misses) == fix.comparison.lost > 0
    assert fix.sentence.endswith(
        f" Among them: {fix.without_ndcg} questions without an answer, scored 1 if the search "
        "returns nothing and 0 otherwise."
    )
