"""Questions are understood in the tables that people have, and columns can be named."""

import io
from pathlib import Path

import pytest
from openpyxl import Workbook

from rag import InvalidFile, KnowledgeBase, UnreadableDocument
from tests.workspaces import stocked

NOTES = "Unused leave may be carried over for three months.\n"
QUESTIONS = ["How long may leave be carried over?", "Who approves travel; and when?"]


@pytest.fixture
def base(home: Path) -> KnowledgeBase:
    return stocked(home, {"leave.md": NOTES})[1]


def asked(base: KnowledgeBase) -> list[str]:
    return [question.text for question in base.questions.export("set")]


def sheet() -> bytes:
    book, out = Workbook(), io.BytesIO()
    book.active.append(["Question", "Document", "Quote", "Grade"])
    book.active.append([QUESTIONS[0], "leave.md", "three months", 2.0])
    book.active.append([QUESTIONS[1], None, None, None])
    book.save(out)
    return out.getvalue()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "a.csv",
            f'Question;Document;Quote\n{QUESTIONS[0]};leave.md;three months\n"{QUESTIONS[1]}";;',
        ),
        (
            "b.csv",
            f"QUESTION\tdocument\tquote\n{QUESTIONS[0]}\tleave.md\tthree months\n{QUESTIONS[1]}",
        ),
        (
            "c.tsv",
            f"text\tdocument\tquote\r\n{QUESTIONS[0]}\tleave.md\tthree months\r\n{QUESTIONS[1]}",
        ),
        (
            "d.csv",
            f"sep=|\nquery|document|quote\n{QUESTIONS[0]}|leave.md|three months\n{QUESTIONS[1]}",
        ),
        (
            "e.csv",
            f"\ufeffQuestion,Document,Quote\n{QUESTIONS[0]},leave.md,three months\n{QUESTIONS[1]}",
        ),
        ("f.xlsx", sheet()),
    ],
)
def test_tables_are_understood_as_people_write_them(base, name, content):
    packed = content.encode() if isinstance(content, str) else content
    assert base.questions.import_file("set", name, packed).number == 2
    assert asked(base) == QUESTIONS
    first = base.questions.export("set")[0]
    assert [(item.document, item.quote) for item in first.labels] == [("leave.md", "three months")]


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_a_plain_list_has_one_question_a_line(base, name):
    lines = ["How long may leave be carried over?", "", "Who approves travel?"]
    assert base.questions.import_file("set", name, "\n".join(lines).encode()).number == 2
    assert asked(base) == [lines[0], lines[2]]


def test_judgements_in_a_text_file_stay_judgements(base):
    base.questions.import_file("set", "a.txt", "How long may leave be carried over?")
    assert base.questions.import_file("set", "b.txt", b"q1 0 leave.md 1\n").number == 1
    assert base.questions.holds_judgements("b.txt", b"q1 0 leave.md 1\n")
    assert not base.questions.holds_judgements("c.txt", b"Is leave limited to 30\n")


def test_columns_can_be_named_and_the_hint_says_which_there_are(base):
    content = f"Nr;Frage;Datei\nA7;{QUESTIONS[0]};leave.md\n".encode()
    with pytest.raises(InvalidFile, match=r"No column of a\.csv is called question") as raised:
        base.questions.import_file("set", "a.csv", content)
    assert "Nr; Frage; Datei" in raised.value.hint
    columns = {"question": "frage", "document": "Datei", "id": "Nr"}
    assert base.questions.import_file("set", "a.csv", content, columns=columns).number == 1
    (question,) = base.questions.export("set")
    assert (question.text, len(question.labels)) == (QUESTIONS[0], 1)
    with pytest.raises(InvalidFile, match="has no column 'Titel' for 'question'"):
        base.questions.import_file("set", "a.csv", content, columns={"question": "Titel"})


def test_the_columns_of_a_table_are_shown_with_its_first_rows(base):
    table = base.questions.table("a.xlsx", sheet())
    assert table.columns == ("Question", "Document", "Quote", "Grade")
    assert table.rows[0] == (QUESTIONS[0], "leave.md", "three months", "2")
    assert table.fields["question"] == "Question"
    assert base.questions.table("a.jsonl", b"{}") is None


def test_what_is_no_workbook_is_refused(base):
    with pytest.raises(UnreadableDocument, match="damaged"):
        base.questions.import_file("set", "a.xlsx", b"PK no workbook")


PASSAGES = "question,document,passage,relevance\n"


def test_columns_that_are_no_field_are_refused_with_a_guess(base):
    content = f"{PASSAGES}{QUESTIONS[0]},leave.md,three months,2\n".encode()
    with pytest.raises(InvalidFile, match="no field: passage, relevance") as raised:
        base.questions.import_file("set", "a.csv", content)
    assert "“passage” looks like “quote”, “relevance” looks like “grade”" in raised.value.hint
    assert base.questions.list_all() == []
    columns = {"quote": "passage", "grade": "Relevance"}
    base.questions.import_file("set", "a.csv", content, columns=columns)
    (question,) = base.questions.labelled("set")
    assert [(label.quote, label.grade) for label in question.labels] == [("three months", 2)]


def test_columns_are_left_out_where_that_is_said_or_they_are_empty(base):
    content = f"question,Notes,Empty\n{QUESTIONS[0]},by Ann,\n".encode()
    with pytest.raises(InvalidFile, match="no field: Notes"):
        base.questions.import_file("set", "a.csv", content)
    came = base.questions.import_file("set", "a.csv", content, ignored_columns=["notes"])
    assert (came.number, came.unused) == (1, ("Notes", "Empty"))


def test_unknown_keys_of_jsonl_are_guessed_too(base):
    line = b'{"text": "Why?", "evidence": [{"document": "leave.md", "relevance": 2}]}'
    with pytest.raises(InvalidFile, match="unknown key “relevance”") as raised:
        base.questions.import_file("set", "a.jsonl", line)
    assert raised.value.hint.startswith("“relevance” looks like “grade”. ")


@pytest.mark.parametrize("ids", [("", ""), ("a", ""), ("a", "b")])
def test_rows_of_one_text_are_one_question(base, ids):
    rows = [
        f"{ids[0]},{QUESTIONS[0]},leave;plain,leave.md,three months",
        f"{ids[1]},{QUESTIONS[0].upper()} ,more,leave.md,Unused leave",
        f",{QUESTIONS[1]},,,",
    ]
    content = "\n".join(["id,question,tags,document,quote", *rows]).encode()
    base.questions.import_file("set", "a.csv", content)
    first, second = base.questions.export("set")
    assert (first.id, first.text) == (ids[0] or "q1", QUESTIONS[0])
    assert first.tags == ("leave", "plain", "more")
    assert [label.quote for label in first.labels] == ["three months", "Unused leave"]
    assert (second.text, second.labels) == (QUESTIONS[1], ())


def test_an_id_of_two_questions_and_a_quote_of_no_document_are_refused(base):
    rows = f"a,{QUESTIONS[0]},,\na,{QUESTIONS[1]},,\nb,Why?,,three months\n"
    content = f"id,question,document,quote\n{rows}".encode()
    with pytest.raises(InvalidFile) as refused:
        base.questions.import_file("set", "a.csv", content)
    assert ("Line 3:" in refused.value.message, "Line 4:" in refused.value.message) == (True, True)
