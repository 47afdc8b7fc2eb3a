"""Imports that forgive and tell: pages, names without suffix, all bad lines, lost labels."""

import json
import re
from pathlib import Path

import pytest

from rag import Document, InvalidFile, KnowledgeBase
from rag.__main__ import main
from rag.evaluation.formats import beir, trec
from rag.evaluation.formats.fields import ReadingNotes
from rag.evaluation.formats.question_files import FileLabel, parse, to_csv, to_jsonl
from rag.experiments.runs.evaluator import IDENTICAL
from rag.library.documents.ingestion import Ingestion
from rag.library.questions.reanchoring import spellings
from rag.types import Page
from tests.verbs import output_of
from tests.workspaces import QUICK, workspace_at

FIRST, SECOND = (
    "Leave lapses on 31 March.",
    "Travel is booked early. Leave is asked for in writing.",
)
PAGED = Document(
    id="e" * 64,
    name="rules.pdf",
    source="",
    media_type="application/pdf",
    text=f"{FIRST}\n\n {SECOND} ",
    pages=(Page(1, 0, len(FIRST)), Page(2, len(FIRST) + 2, len(FIRST) + len(SECOND) + 4)),
)
BAD = "\n".join(
    [
        '{"id": "a", "text": "Fine?"}',
        '{"id": "b"}',
        "no json",
        '{"id": "a", "text": "Twice?"}',
        '{"id": "c", "text": "Why?", "evidense": []}',
        '{"id": "d", "text": "Why?", "evidence": [{"document": "x", "grades": 2}]}',
        '{"id": "e", "text": "Fine too?"}',
    ]
)


@pytest.fixture
def base(tmp_path: Path) -> KnowledgeBase:
    made = workspace_at(tmp_path / "home").create("rules", QUICK)
    _add(made, PAGED)
    return made


def _add(base: KnowledgeBase, document: Document) -> None:
    ingestion = Ingestion(base._database, base.id, base._services.models.embedder)
    ingestion.store([document], lambda *_: None)


def row(**evidence: object) -> str:
    return json.dumps({"id": "q", "text": "When does leave lapse?", "evidence": [evidence]})


def labels(base: KnowledgeBase, line: str) -> list[tuple[str, str, int, int | None]]:
    base.questions.import_file("s", "s.jsonl", line)
    (question,) = base.questions.labelled("s")
    return [(each.document_name, each.quote, each.start, each.end) for each in question.labels]


GRADED_TWICE = {
    "x.qrels": "q 0 rules.pdf 2\nq 0 rules.pdf 2\nq 0 rules.pdf 0\n",
    "x.csv": "id,question,document,grade\nq,When?,rules.pdf,2\nq,When?,rules.pdf,0\n",
    "x.jsonl": json.dumps(
        {
            "id": "q",
            "text": "When?",
            "evidence": [{"document": "rules.pdf", "grade": grade} for grade in (2, 0)],
        }
    ),
}


@pytest.mark.parametrize(("name", "places"), [("x.qrels", "31"), ("x.csv", "32"), ("x.jsonl", "1")])
def test_two_grades_of_one_label_are_refused_with_their_lines(
    base: KnowledgeBase, name: str, places: str
) -> None:
    base.questions.import_file("s", "s.jsonl", row(document="rules.pdf", grade=2))
    with pytest.raises(InvalidFile) as refused:
        base.questions.import_file("s", name, GRADED_TWICE[name])
    assert set(places) <= set(re.findall(r"[Ll]ine (\d+)", refused.value.message))


def test_two_grades_in_a_beir_folder_are_refused(base: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "beir"
    (folder / "qrels").mkdir(parents=True)
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "When?"}\n')
    judgements = "query-id\tcorpus-id\tscore\nq\trules.pdf\t2\nq\trules.pdf\t0\n"
    (folder / "qrels" / "test.tsv").write_text(judgements)
    with pytest.raises(InvalidFile, match=r"line 3.*line 2"):
        base.questions.import_folder("s", folder)


def test_evidence_by_page_is_the_text_of_that_page(base):
    start = PAGED.text.index(SECOND)
    whole = ("rules.pdf", SECOND, start, start + len(SECOND))
    assert labels(base, row(document="rules.pdf", page=2)) == [whole]
    assert base.questions.lost_labels("s") == []


def test_a_quote_is_looked_for_on_its_page(base):
    start = PAGED.text.index("Leave is asked")
    assert labels(base, row(document="rules.pdf", page=2, quote="Leave")) == [
        ("rules.pdf", "Leave", start, start + 5)
    ]


def test_a_page_that_is_not_there_is_lost_until_it_is(base):
    assert labels(base, row(document="rules", page=3)) == [("rules.pdf", "", 0, None)]
    [(question, lost)] = base.questions.lost_labels("s")
    assert (question, lost.document_name, lost.page) == ("q", "rules.pdf", 3)
    more = f"{PAGED.text}\nThe third page."
    third = Page(3, len(PAGED.text) + 1, len(more))
    _add(base, Document("f" * 64, "rules.pdf", "", "", more, (*PAGED.pages, third)))
    assert base.questions.lost_labels("s") == []
    [(label,)] = [item.labels for item in base.questions.labelled("s")]
    assert (label.quote, label.page, label.document_id) == ("The third page.", None, "f" * 64)


def test_a_label_by_page_waits_for_its_document_by_either_name(base):
    assert labels(base, row(document="other", page=1)) == [("other", "", 0, None)]
    _add(base, Document("f" * 64, "other.pdf", "", "", "One page.", (Page(1, 0, 9),)))
    [(label,)] = [item.labels for item in base.questions.labelled("s")]
    assert (label.document_name, label.quote) == ("other.pdf", "One page.")


@pytest.mark.parametrize("name", ["rules", "rules.pdf"])
def test_documents_are_named_with_or_without_their_suffix(base, name):
    assert labels(base, row(document=name)) == [("rules.pdf", "", 0, None)]
    assert base.questions.lost_labels("s") == []


def test_a_name_that_two_documents_share_is_none(base):
    _add(base, Document("f" * 64, "rules.md", "", "", "Rules."))
    assert labels(base, row(document="rules")) == [("rules", "", 0, None)]
    assert [label.document_name for _, label in base.questions.lost_labels("s")] == ["rules"]


def test_only_known_suffixes_are_left_out():
    assert spellings("leave.v1.2") != ("leave.v1.2", "leave.v1")
    assert spellings("leave.pdf") == ("leave.pdf", "leave")
    assert "leave.pdf" in spellings("leave")


def test_all_bad_lines_are_told_at_once():
    with pytest.raises(InvalidFile) as raised:
        parse("x.jsonl", BAD)
    told = raised.value.message.splitlines()
    assert told[0] == "5 lines cannot be read, and nothing was imported:"
    assert [each.removeprefix("- ") for each in told[1:]] == [
        "Line 2 has no question.",
        "Line 3 is not JSON: Expecting value.",
        "Line 4: the id 'a' occurs twice.",
        "Line 5: unknown key “evidense”.",
        "Line 6: evidence: unknown key “grades”.",
    ]
    assert "document, quote, page, start, end, grade" in raised.value.hint


def test_bad_lines_are_left_out_and_listed(base):
    came = base.questions.import_file("s", "x.jsonl", BAD, skip_bad=True)
    assert came.number == 2
    assert [each.split()[1].rstrip(":") for each in came.skipped] == ["2", "3", "4", "5", "6"]
    assert [item.text for item in base.questions.export("s")] == ["Fine?", "Fine too?"]


def test_a_bad_row_of_a_table_takes_only_its_label(base):
    lines = "id,question,document,page,Author\na,Why?,rules,0,Kim\na,,rules,1,\nb,,,,\nc,How?,,,\n"
    came = base.questions.import_file(
        "s", "x.csv", lines, ignored_columns=["Author"], skip_bad=True
    )
    assert came.skipped == (
        "Line 2: there is no page 0, as pages count from 1.",
        "Line 3 has no question.",
        "Line 4 has no question.",
    )
    assert (came.number, came.unused) == (1, ("Author",))
    fine = lines.replace(",0,", ",2,").replace("b,,,,\n", "")
    assert base.questions.import_file("s", "x.csv", fine, ignored_columns=["Author"]).number == 2
    assert [each.quote for each in base.questions.export("s")[0].labels] == [SECOND, FIRST]


def test_pages_are_written_and_read_back():
    (question,) = parse("x.jsonl", row(document="a.pdf", page=3, quote="b"))
    assert question.labels == (FileLabel("a.pdf", "b", page=3),)
    assert parse("x.jsonl", to_jsonl([question])) == [question]
    assert parse("x.csv", to_csv([question])) == [question]


def test_collections_and_judgements_tell_all_bad_lines(tmp_path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "A?"}\nx\n')
    (tmp_path / "qrels/test.tsv").write_text("q1\td1\t1\nq1 d2\nq9\td1\t1\n")
    with pytest.raises(InvalidFile, match=r"^2 lines cannot be read"):
        beir.read_questions(tmp_path, None)
    notes = ReadingNotes(skip_bad=True)
    (question,) = beir.read_questions(tmp_path, None, notes)
    assert question.labels == (FileLabel("d1"),)
    assert [each.partition(",")[0] for each in notes.skipped[:2]] == ["queries.jsonl", "test.tsv"]
    judged = trec.read_qrels("x", "q1 0 d1 1\nbad\nq1 0 d2 x\n", notes)
    assert judged == {"q1": (FileLabel("d1"),)}
    assert len(notes.skipped) == 4


def test_questions_that_nothing_can_be_measured_with_are_counted(base, tmp_path, capsys):
    table = (
        "question,answerable,answer,document,quote\n"
        f"When does leave lapse?,true,,rules.pdf,{FIRST}\n"
        "Who books travel?,true,,,\n"
        "How is leave asked for?,,in writing,,\n"  # an expected answer is no label
        "Who won the cup?,false,,,\n"
        "Is there a canteen?,,,,\n"
    )
    assert base.questions.import_file("s", "s.csv", table).unlabelled == 3
    (tmp_path / "s.csv").write_text(table)
    command = ["import-questions", "rules", str(tmp_path / "s.csv"), "--home"]
    assert output_of(capsys, *command, str(tmp_path / "home"))["unlabelled_questions"] == 3
    assert main([*command, str(tmp_path / "home")]) == 0
    (said,) = (line for line in capsys.readouterr().out.splitlines() if "label" in line)
    assert said.startswith("q2, q5: ")


def test_a_document_named_like_its_question_is_no_result(base):
    for number in range(3):
        name = f"claim-{number}"
        text = f"Claim {number}: leave lapses on 31 March."
        _add(base, Document(str(number) * 64, name, "", "", text))
    rows = [
        {"id": "claim-0", "text": "leave lapses 0", "evidence": [{"document": "claim-1"}]},
        {"id": "other", "text": "leave lapses 1", "evidence": [{"document": "claim-1"}]},
    ]
    base.questions.import_file("s", "s.jsonl", "\n".join(map(json.dumps, rows)))
    recipe = base.recipe().with_fields({"search.mode": "lexical", "search.threshold": None})
    assert base.runs.alike("s") == 1
    with_own = base.runs.evaluate("s", recipe, (1, 3))
    without = base.runs.evaluate("s", recipe, (1, 3), ignore_identical=True)
    own = "0" * 64
    assert own in [key for key, *_ in with_own.results[0].ranking]
    kept = [item for item in with_own.results[0].ranking if item[0] != own]
    assert list(without.results[0].ranking)[: len(kept)] == kept
    assert without.results[1].ranking == with_own.results[1].ranking
    assert without.run.environment[IDENTICAL] == "ignored"
    assert any(
        IDENTICAL in each
        for each in base.runs.differences(without.run.id, with_own.run.id).sentences
    )


def test_a_file_may_name_a_document_from_a_folder_below(base):
    for name, letter in (("docs/security/team.md", "a"), ("docs/team.md", "b"), ("a/b.md", "c")):
        _add(base, Document(letter * 64, name, "", "text/markdown", FIRST))
    for name, meant in (
        ("security/team.md", "docs/security/team.md"),
        ("security/team", "docs/security/team.md"),
        ("docs/team.md", "docs/team.md"),
        ("b.md", "a/b.md"),
        ("team.md", None),  # two have this name
        ("urity/team.md", None),
    ):
        base.questions.import_file("set", "set.jsonl", row(document=name, quote="Leave lapses"))
        [question] = base.questions.labelled("set")
        [label] = question.labels
        assert (label.document_name if label.document_id else None) == meant
