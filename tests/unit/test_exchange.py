"""Question sets and runs go out to other tools and come back the same."""

import io
import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest
import pytrec_eval

from rag import InvalidFile, KnowledgeBase, NotFound
from rag.__main__ import main
from tests.verbs import output_of
from tests.workspaces import DATABASES, QUICK, URL, stocked, workspace_at

SET = "checks"
WORDS = QUICK.with_fields({"search.mode": "lexical"})
DOCUMENTS = {
    "leave policy.md": "Unused leave may be carried over.\n\nIt lapses after three months.",
    "travel.md": "Trains are booked in second class.\n\nNobody carries leave on a train.",
    "safety.md": "Wear goggles.\n\nThe rotor stops after 90 s.\n\nGoggles are free.",
}
QUESTIONS = [
    {
        "id": "q1",
        "text": "When does carried leave lapse?",
        "tags": ["plain", "leave"],
        "evidence": [
            {"document": "leave policy.md", "quote": "It lapses after three months", "grade": 3},
            {"document": "leave policy.md", "quote": "may be carried over", "grade": 1},
            {"document": "travel.md", "quote": "Nobody carries leave on a train.", "grade": 0},
            {"document": "gone.md", "quote": "Words of a document that is gone.", "grade": 2},
        ],
    },
    {"id": "q 2", "text": "What is free?", "evidence": [{"document": "safety.md", "grade": 2}]},
    {"id": "q3", "text": "Who won in 1954?", "answerable": False},
    {"id": "q4", "text": "Which rotor?", "evidence": [{"document": "travel.md", "grade": 0}]},
]


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    _, made = stocked(home, DOCUMENTS, WORDS)
    made.questions.import_file(SET, "checks.jsonl", "\n".join(map(json.dumps, QUESTIONS)))
    return made


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_a_text_comes_back_the_same(base, form):
    text = base.questions.export_text(SET, form)
    assert base.questions.import_file("again", f"x.{form}", "\ufeff" + text).number == 4
    assert base.questions.export_text("again", form) == text
    assert base.questions.usable("again") == base.questions.usable(SET)
    assert len(base.questions.lost_labels("again")) == 1


@pytest.mark.parametrize("with_documents", [False, True])
def test_a_beir_zip_comes_back_the_same(base, with_documents):
    packed = base.questions.export_beir(SET, split="dev", with_documents=with_documents)
    base.questions.import_file("again", "again.zip", packed)
    # A question nobody judged is not part of a BEIR collection; this set has none.
    by_id = {item.id: item for item in base.questions.usable("again")}
    assert by_id == {item.id: item for item in base.questions.usable(SET)}
    assert [label.quote for _, label in base.questions.lost_labels("again")] == [
        "Words of a document that is gone."
    ]
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        qrels = archive.read("qrels/dev.tsv").decode().splitlines()
        assert ("corpus.jsonl" in archive.namelist()) is with_documents
    assert qrels == [
        "query-id\tcorpus-id\tscore",
        "q1\tleave policy.md\t3",
        "q1\ttravel.md\t0",
        "q1\tgone.md\t2",
        "q 2\tsafety.md\t2",
        "q4\ttravel.md\t0",
    ]


def test_an_exported_collection_is_imported_whole(base, home):
    packed = base.questions.export_beir(SET, with_documents=True)
    folder = home / "collection"
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        archive.extractall(folder)
    workspace = workspace_at(home)
    copy = workspace.create("copy", WORDS)
    workspace.jobs.run(copy.documents.import_beir(folder, "test"))
    assert len(copy.documents.documents(WORDS.index)) == 3
    theirs = [item.evidence for item in copy.questions.usable("collection")]
    mine = [item.evidence for item in base.questions.usable(SET)]
    assert [[(e.start, e.end, e.grade, e.quote) for e in each] for each in theirs] == [
        [(e.start, e.end, e.grade, e.quote) for e in each]
        for each in (mine[0], mine[1], mine[3], mine[2])
    ]


def test_a_beir_folder_names_its_split(base, tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "a", "text": "Goggles?"}\n')
    with pytest.raises(InvalidFile, match="several qrels files"):
        base.questions.import_folder("given", tmp_path)
    for name in ("train", "dev"):
        (tmp_path / "qrels" / f"{name}.tsv").write_text(f"a\tsafety.md\t{len(name) - 2}\n")
    with pytest.raises(InvalidFile, match="several qrels files"):
        base.questions.import_folder("given", tmp_path)
    base.questions.import_folder("given", tmp_path, "train")
    assert base.questions.usable("given")[0].evidence[0].grade == 3
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\na\tsafety.md\t2\n")
    base.questions.import_folder("given", tmp_path)
    assert base.questions.usable("given")[0].evidence[0].grade == 2


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.zip", b"no zip", "not a zip file"),
        ("x.jsonl", b"\xff\xfe", "not UTF-8"),
        ("x.qrels", b"q1 0 travel.md", "line 1"),
        ("x.qrels", b"q1 0 travel.md high", "line 1"),
        ("x.txt", b"\n", "no judgement"),
        ("x.qrels", b"q9 0 travel.md 1", "no question 'q9'"),
    ],
)
def test_files_that_are_not_what_they_say(base, name, content, said):
    before = base.questions.export_text(SET, "jsonl")
    with pytest.raises(InvalidFile, match=said):
        base.questions.import_file(SET, name, content)
    assert base.questions.export_text(SET, "jsonl") == before


def test_a_zip_without_questions_is_refused(base):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("notes.txt", "nothing")
    with pytest.raises(InvalidFile, match=r"queries\.jsonl"):
        base.questions.import_file("x", "x.zip", packed.getvalue())


def collection(queries: str) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("queries.jsonl", queries)
        archive.writestr("qrels/test.tsv", "q1\ttravel.md\t1\n")
    return packed.getvalue()


def test_a_zip_unpacks_to_no_more_than_questions_take(base):
    packed = collection(json.dumps({"_id": "q1", "text": "x" * 101_000_000}))
    with pytest.raises(InvalidFile, match=r"x\.zip is too large unpacked"):
        base.questions.import_file("x", "x.zip", packed)


def test_a_zip_is_unpacked_and_parsed_outside_of_this_process(base):
    lists = ", ".join(["[]"] * 1_000_000)
    packed = collection(f'{{"_id": "q1", "text": " Why? ", "metadata": {{"a": [{lists}]}}}}')
    tracemalloc.start()
    try:
        assert base.questions.import_file("x", "x.zip", packed).number == 1
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    (question,) = base.questions.usable("x")
    assert (question.id, question.text) == ("q1", " Why? ")


def test_qrels_judge_documents_and_leave_spans_alone(base):
    text = base.questions.export_text(SET, "qrels")
    assert text.splitlines() == [
        "q1 0 leave%20policy.md 3",
        "q1 0 travel.md 0",
        "q1 0 gone.md 2",
        "q%202 0 safety.md 2",
        "q4 0 travel.md 0",
    ]
    before = base.questions.usable(SET)
    base.questions.import_file(SET, "x.qrels", text)
    assert base.questions.usable(SET) == before
    given = "q%202 0 safety.md 1\nq%202 0 leave%20policy.md 3\nq4 Q0 gone.md 1\n"
    base.questions.import_file(SET, "x.qrels", given)
    found = {item.id: item for item in base.questions.usable(SET)}
    assert [(each.end, each.grade) for each in found["q 2"].evidence] == [(None, 1), (None, 3)]
    assert [label.grade for name, label in base.questions.lost_labels(SET) if name == "q4"] == [1]
    with pytest.raises(NotFound, match="no question set"):
        base.questions.import_file("unknown", "x.qrels", given)


@pytest.mark.parametrize("whole", [False, True])
def test_a_run_and_its_qrels_repeat_the_figures_elsewhere(base, whole):
    rows = [
        {
            "id": f"q{number}",
            "text": text,
            "evidence": [
                {"document": document, "grade": grade} | ({} if whole else {"quote": quote})
                for document, quote, grade in labels
            ],
        }
        for number, (text, labels) in enumerate(
            [
                ("leave on a train", [("travel.md", "Nobody carries leave on a train.", 1)]),
                (
                    "leave carried over",
                    [
                        ("leave policy.md", "Unused leave may be carried over.", 3),
                        ("travel.md", "Nobody carries leave on a train.", 0),
                    ],
                ),
                ("goggles", [("safety.md", "Goggles are free.", 2)]),
            ]
        )
    ]
    base.questions.import_file("judged", "x.jsonl", "\n".join(map(json.dumps, rows)))
    run = base.runs.evaluate("judged", WORDS, (1, 3, 10)).run
    ranked = pytrec_eval.parse_run(base.questions.export_run(run.id).splitlines())
    qrels = pytrec_eval.parse_qrel(base.questions.export_run_qrels(run.id).splitlines())
    measures = {"ndcg_cut.1,3,10", "recall.1,3,10", "P.1,3,10"}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(ranked)
    for result in base.runs.results(run.id):
        for ours, name in (("ndcg", "ndcg_cut"), ("recall", "recall"), ("precision", "P")):
            for k in (1, 3, 10):
                expected = theirs[result.question_id][f"{name}_{k}"]
                assert result.metrics[f"{ours}@{k}"] == pytest.approx(expected, abs=1e-9)


def test_the_command_line_tells_forms_by_name(base, home, capsys, monkeypatch):
    if DATABASES.server is not None:
        monkeypatch.setenv(URL, DATABASES.of(home))
    at = ["--home", str(home), "--json"]
    for name in ("out.jsonl", "out.csv", "out.zip", "out"):
        target = home / name
        assert main(["export-questions", "handbook", SET, "-o", str(target), *at]) == 0
        assert main(["import-questions", "handbook", str(target), "--name", name, *at]) == 0
        assert json.loads(capsys.readouterr().out.splitlines()[-1])["questions"] == 4
        assert len(base.questions.lost_labels(name)) == 1
    target = home / "judgements.qrels"
    assert main(["export-questions", "handbook", SET, "-o", str(target), *at]) == 0
    assert main(["import-questions", "handbook", str(target), "--name", SET, *at]) == 0
    assert main(["import-questions", "handbook", str(target), *at]) == 2
    run = base.runs.evaluate(SET, WORDS, (3,)).run.id
    files = [str(home / "x.run"), "--qrels", str(home / "x.qrels")]
    assert main(["export-run", "handbook", run, "-o", *files, *at]) == 0
    assert (home / "x.run").read_text() == base.questions.export_run(run)
    assert (home / "x.qrels").read_text() == base.questions.export_run_qrels(run)
    assert main(["export-run", "handbook", "unknown", "-o", *files, *at]) == 2


def test_a_run_is_no_better_for_having_been_exported(base, home, capsys):
    nothing = WORDS.with_fields({"search.threshold": 1.0, "search.matched_words": False})
    command = ["evaluate", base.name, SET, "--returned", str(home / "x.run")]
    for recipe in (WORDS, nothing):
        evaluation = base.runs.evaluate(SET, recipe)
        missing = sum(not result.ranking for result in evaluation.results)
        assert missing >= 1
        (home / "x.run").write_text(base.questions.export_run(evaluation.run.id))
        told = output_of(capsys, *command)
        assert (told["complete"], len(told["unasked"])) == (True, missing)
        for name in ("recall@10", "correct_refusal"):
            assert told["metrics"][name] == evaluation.run.metrics[name]


def test_a_document_that_is_returned_twice_lifts_nothing(
    base: KnowledgeBase, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = []
    for second in ("travel.md", "gone.md"):
        ranked = ["travel.md", second, "safety.md"]
        lines = [f"q%202 Q0 {name} {rank} {9 - rank} x" for rank, name in enumerate(ranked, 1)]
        (home / "x.run").write_text("\n".join(lines))
        figures.append(
            output_of(capsys, "evaluate", base.name, SET, "--returned", str(home / "x.run"))
        )
    twice, once = figures
    assert twice["metrics"] == once["metrics"]
    assert twice["metrics"]["mrr@10"] == pytest.approx(1 / 3)
    assert (twice["system"]["repeated"], once["system"]["repeated"]) == (1, 0)
    assert len(twice["cautions"]) == len(once["cautions"]) + 1


def test_a_gate_does_not_pass_by_a_metric_that_cannot_fail(
    base: KnowledgeBase, capsys: pytest.CaptureFixture[str]
) -> None:
    passages = base.runs.evaluate(SET, WORDS).run.environment["rankable results"]
    for options, code in (([], 1), (["--allow-trivial"], 0)):
        command = ["gate", base.name, SET, "--min", "recall@10=0", *options]
        told = output_of(capsys, *command, code=code)
        assert (told["passed"], told["blind"]) == (not code, ["recall@10"] * code)
        assert passages in told["cautions"][0]
    assert main(["gate", base.name, SET, "--min", "recall@1=0", "--json"]) == 0
    named = ["--min", "ndcg@10=0", "--name", "nightly"]
    assert main(["gate", base.name, SET, *named, "--json"]) == 0
    assert (base.runs.list_all(SET)[0].note, base.runs.list_all(SET)[0].purpose) == (
        "nightly",
        "gate",
    )


@pytest.mark.parametrize(("options", "questions"), [([], 1), (["--complete"], 3)])
def test_a_run_of_another_tool_counts_missing_questions_on_request(
    base, home, options, questions, capsys
):
    (home / "x.run").write_text("q1 Q0 travel.md 1 1.0 other\n")
    returned = ("--returned", home / "x.run", *options)
    told = output_of(capsys, "evaluate", base.name, SET, *returned)
    assert (told["questions"], told["complete"]) == (questions, bool(options))
