"""Labels whose document is not here count as relevant and never found, as trec_eval counts them."""

import json
from pathlib import Path

import pytest
import pytrec_eval

from tests.workspaces import QUICK, workspace_at


def _collection(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    rows = {"d1": "pumps and valves", "d2": "travel by train", "d3": ""}
    questions = {"q1": "pumps", "q2": "train travel", "q3": "centrifuges"}
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in rows.items())
    )
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": key, "text": text}) + "\n" for key, text in questions.items())
    )
    (folder / "qrels" / "test.tsv").write_text(
        "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\tdX\t1\nq2\td2\t2\nq2\td3\t1\nq3\tdX\t1\n"
    )
    return folder


@pytest.mark.parametrize("chunker", ["whole", "recursive"])
def test_absent_documents_count_as_trec_eval_counts_them(home, tmp_path, chunker):
    recipe = QUICK.with_fields({"index.chunker": chunker, "search.mode": "lexical"})
    workspace = workspace_at(home)
    base = workspace.create("b", recipe)
    workspace.jobs.run(base.documents.import_beir(_collection(tmp_path / "set"), "test"))
    found = base.runs.evaluate("set", recipe, (10,)).run
    qrels = {"q1": {"d1": 1, "dX": 1}, "q2": {"d2": 2, "d3": 1}, "q3": {"dX": 1}}
    names = {"recall@10": "recall_10", "mrr@10": "recip_rank"}
    names |= {"ndcg@10": "ndcg_cut_10", "map@10": "map_cut_10"}
    asked = {"recall.10", "recip_rank", "ndcg_cut.10", "map_cut.10"}
    run = {"q1": {"d1": 1.0}, "q2": {"d2": 1.0}}  # q3 finds nothing: it is missing, and scores 0
    expected = pytrec_eval.RelevanceEvaluator(qrels, asked).evaluate(run).values()
    assert found.questions == 3
    for name, theirs in names.items():
        mean = sum(row[theirs] for row in expected) / len(qrels)
        assert found.metrics[name] == pytest.approx(mean, abs=1e-12)
    assert found.metrics["recall@10"] == pytest.approx(1 / 3)


def test_a_lost_span_counts_once(home):
    workspace = workspace_at(home)
    base = workspace.create("b", QUICK)
    workspace.jobs.run(base.documents.add_text("note", "Pumps are checked every spring."))
    labels = [{"document": "note", "quote": "checked every spring"}]
    labels.append({"document": "gone.md", "quote": "and every autumn"})
    row = {"id": "q", "text": "When are pumps checked?", "evidence": labels}
    base.questions.import_file("s", "s.jsonl", json.dumps(row))
    metrics = base.runs.evaluate("s", QUICK, (5,)).run.metrics
    assert metrics["recall@5"] == 0.5
    assert metrics["mrr@5"] == 1.0
    assert [label.document_name for _, label in base.questions.lost_labels("s")] == ["gone.md"]


def test_a_recipe_is_measured_as_it_answers(home):
    """More candidates would stretch hybrid scores otherwise and make another ranking."""
    workspace = workspace_at(home)
    recipe = QUICK.with_fields({"search.candidates": 3, "search.top_k": 5})
    base = workspace.create("b", recipe)
    text = "\n\n".join(f"Pump {n} has valve {n * n % 7} and filter {n % 5}." for n in range(40))
    workspace.jobs.run(base.documents.add_text("note", text))
    row = {"id": "q", "text": "Which pump has valve 2 and filter 3?"}
    row["evidence"] = [{"document": "note", "quote": "Pump 3 has valve 2 and filter 3."}]
    base.questions.import_file("s", "s.jsonl", json.dumps(row))
    results = base.runs.evaluate("s", recipe, (5, 100)).results
    ranked = [key for key, _, _ in results[0].ranking][:5]
    assert ranked == [hit.chunk.id for hit in base.search(row["text"], recipe).hits]
