"""Labels outlive their documents, wait for them, and choose among repeated quotes."""

import json
from pathlib import Path

import pytest
import pytrec_eval

from rag import KnowledgeBase, Label, Workspace
from tests.workspaces import QUICK, add, workspace_at

SET = "checks"
RULE = "Up to eight days of unused leave may be carried over."
TEXT = f"# Leave\n\nGeneral words on leave.\n\n{RULE} It lapses in June.\n"


@pytest.fixture
def base(workspace: Workspace) -> KnowledgeBase:
    made = workspace.create("handbook", QUICK)
    add(workspace, made, {"leave.md": TEXT})
    _import(made, {"document": "leave.md", "quote": RULE, "grade": 2})
    return made


def _import(base: KnowledgeBase, *labels: dict[str, object]) -> None:
    row = {"id": "q", "text": "How much leave may be carried over?", "evidence": labels}
    base.questions.import_file(SET, "checks.jsonl", json.dumps(row))


def _labels(base: KnowledgeBase) -> list[Label]:
    return list(base.questions.labelled(SET)[0].labels)


def _words(base: KnowledgeBase) -> list[str]:
    """What stands at the labels that count, in the documents as they are."""
    return [
        base.documents.document(each.document_id).text[each.start : each.end]
        for each in base.questions.usable(SET)[0].evidence
        if not each.lost
    ]


def test_a_new_version_keeps_the_label_at_its_words(workspace, base):
    version = base.questions.named(SET).version
    add(workspace, base, {"leave.md": "A new preface.\n\n" + TEXT})
    assert _words(base) == [RULE]
    assert base.questions.lost_labels(SET) == []
    assert base.questions.named(SET).version == version + 1
    assert base.runs.evaluate(SET, QUICK, (5,)).results[0].relevant == 1


def test_a_label_that_lost_its_words_is_listed_until_they_come_back(workspace, base):
    before = _labels(base)
    add(workspace, base, {"leave.md": "# Leave\n\nAsk your manager.\n"})
    assert _words(base) == []
    assert base.questions.lost_labels(SET) == [("q", before[0])]
    edited = TEXT.replace("eight", "nine").replace("words", "remarks")
    add(workspace, base, {"leave.md": edited})
    assert _words(base) == [RULE.replace("eight", "nine")]
    assert [each.quote for each in _labels(base)] == _words(base)
    assert base.questions.lost_labels(SET) == []


def test_a_deleted_document_leaves_its_labels(workspace, base):
    document = base.documents.documents(QUICK.index)[0].id
    base.documents.delete_documents([document])
    assert [label.quote for _, label in base.questions.lost_labels(SET)] == [RULE]
    add(workspace, base, {"copy.md": TEXT})  # the same bytes under another name
    assert _words(base) == [RULE]
    base.documents.delete_documents([document])
    add(workspace, base, {"leave.md": "More.\n\n" + TEXT})  # other bytes under the old name
    assert _words(base) == [RULE]
    assert base.questions.lost_labels(SET) == []


def test_labels_that_come_before_their_document_wait_for_it(workspace, base):
    travel = "Trains are booked in second class."
    _import(
        base,
        {"document": "travel.md", "quote": "booked in  second class", "grade": 3},
        {"document": "notes.md"},
        {"document": "notes.md", "start": 0, "end": 5, "grade": 0},
    )
    assert [label.document_name for _, label in base.questions.lost_labels(SET)] == [
        "travel.md",
        "notes.md",
        "notes.md",
    ]
    exported = base.questions.export_text(SET, "jsonl")
    assert json.loads(exported)["evidence"][0]["quote"] == "booked in  second class"
    add(workspace, base, {"travel.md": travel, "notes.md": "Notes on trains."})
    assert base.questions.lost_labels(SET) == []
    placed = [(each.start, each.end, each.grade, each.quote) for each in _labels(base)]
    assert placed == [(11, 33, 3, "booked in second class"), (0, None, 1, ""), (0, 5, 0, "Notes")]


def test_of_repeated_words_the_same_one_is_meant(workspace, base):
    def table(rows: int) -> str:
        return "\n\n".join(f"Row {number}: approved." for number in range(rows))

    add(workspace, base, {"table.md": table(20)})
    document = next(
        each.id for each in base.documents.documents(QUICK.index) if each.name == "table.md"
    )
    start = table(20).index("Row 15") + len("Row 15: ")
    base.questions.label(SET, "q", document, start, start + len("approved."), 1)
    add(workspace, base, {"table.md": table(20).replace("Row 15:", "Line 15:")})
    moved = _labels(base)[1]
    text = base.documents.document(str(moved.document_id)).text
    assert text[: moved.end].endswith("Line 15: approved.")
    add(workspace, base, {"table.md": table(20).replace("Row 15:", "Row 15:\n\n")})
    moved = _labels(base)[1]
    text = base.documents.document(str(moved.document_id)).text
    assert text[: moved.end].endswith("Row 15:\n\n approved.")
    add(workspace, base, {"table.md": table(20).replace("Row", "The long row number")})
    moved = _labels(base)[1]
    text = base.documents.document(str(moved.document_id)).text
    assert text[: moved.end].endswith("The long row number 15: approved.")


def test_labels_of_whole_documents_follow_the_name(workspace, base):
    _import(base, {"document": "leave.md", "grade": 2})
    add(workspace, base, {"leave.md": "# Leave\n\nSomething else altogether.\n"})
    document = base.documents.documents(QUICK.index)[0].id
    assert [(each.document_id, each.end) for each in _labels(base)] == [(document, None)]


def test_other_knowledge_bases_keep_their_labels(workspace, base):
    other = workspace.create("other", QUICK)
    add(workspace, other, {"leave.md": TEXT})
    _import(other, {"document": "leave.md", "quote": RULE})
    add(workspace, base, {"leave.md": "Nothing."})
    assert _words(other) == [RULE]
    assert len(base.questions.lost_labels(SET)) == 1


def test_words_copied_from_a_page_become_a_label_of_the_row(workspace):
    base = workspace.create("payments", QUICK)
    row = "| £500 | Apprentices | £250 |"
    table = f"| Amount | Roles | At the start |\n|---|---|---|\n{row}\n| £900 | Engineers | £450 |"
    add(workspace, base, {"referral.md": f"# Referral\n\n{table}\n"})
    shown = "Amount: £500 · Roles: Apprentices · At the start: £250"
    _import(base, {"document": "referral.md", "quote": shown, "grade": 3})
    assert _words(base) == ["£500\tApprentices\t£250"]
    assert base.questions.lost_labels(SET) == []


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


TARIFF = "In a van of the town: $2.590,00.\n\nTo another cemetery: $2.590,00.\n"


@pytest.mark.parametrize(
    ("quote", "notes"),
    [
        ("To another cemetery: $2.590,00", []),
        (
            "$2.590,00",
            [
                "q1: “$2.590,00” is in 2 places of tariff.md. The label is on one of them. "
                "Add more words, or the page."
            ],
        ),
    ],
)
def test_an_import_names_quotes_in_several_places(home, quote, notes):
    workspace = workspace_at(home)
    base = workspace.create("fees", QUICK)
    add(workspace, base, {"tariff.md": TARIFF})
    label = {"document": "tariff.md", "quote": quote}
    line = json.dumps({"id": "q1", "text": "What does it cost?", "evidence": [label]})
    came = base.questions.import_file("fees", "questions.jsonl", line)
    assert list(came.repeated) == notes
