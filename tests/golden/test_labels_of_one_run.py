"""Labels from the first ten of vector search, on a real collection: no verdict for it by them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rag import KnowledgeBase, Recipe
from rag.__main__ import main
from tests.workspaces import workspace_at

QUICK = Recipe().with_fields(
    {
        "index.embedder": "wordllama",
        "index.chunker": "whole",
        "search.mode": "dense",
        "search.threshold": None,
        "search.refuse": "off",
    }
)


@pytest.mark.datasets
@pytest.mark.slow
def test_what_only_one_run_was_judged_for_decides_nothing(
    datasets: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = workspace_at(home)
    base = workspace.create("cranfield", QUICK)
    workspace.jobs.run(base.documents.import_beir(datasets / "cranfield", "test"))
    _judge_first_ten(base)
    words = QUICK.with_fields({"search.mode": "lexical"})
    whole, pool = (
        {
            mode: base.evaluator.evaluate(name, recipe, (10,)).run.id
            for mode, recipe in (("dense", QUICK), ("lexical", words))
        }
        for name in ("cranfield", "pool")
    )
    (truth,) = base.runs.compare([whole["lexical"]], whole["dense"])
    assert truth.figures.verdict == "better"
    (found,) = base.runs.compare([pool["lexical"]], pool["dense"])
    assert found.figures.verdict_by_labels == "worse"
    assert found.figures.verdict == "undecided"
    hits = found.figures.open_hits
    assert hits.shares == (pytest.approx(0.55, abs=0.02), 0.0)
    (tmp_path / "words.json").write_text(words.model_dump_json())
    line = ["gate", "cranfield", "pool", "--baseline", pool["dense"]]
    assert main([*line, "--recipe", str(tmp_path / "words.json")]) == 5
    shown = capsys.readouterr().out
    assert "55% of the first 10 hits of this run and 0% of the baseline's are not judged." in shown
    assert "FAILED" not in shown


def _judge_first_ten(base: KnowledgeBase) -> None:
    """Makes the set ``pool``: every hit of vector search with its grade, and nothing else."""
    names = {each.id: each.name for each in base.documents.documents(QUICK.index)}
    rows = [
        {
            "id": each.question_id,
            "text": each.text,
            "evidence": [
                {"document": names[key], "grade": max(grade, 0)}
                for key, _, grade in each.ranking[:10]
            ],
        }
        for each in base.evaluator.evaluate("cranfield", QUICK, (10,)).results
    ]
    base.exchange.import_file("pool", "pool.jsonl", "\n".join(map(json.dumps, rows)))
