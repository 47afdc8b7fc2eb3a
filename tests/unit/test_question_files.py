"""Question files and data sets: what a line may hold, and what is said about one that is wrong."""

import csv
import io
import json
from pathlib import Path

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from rag import InvalidFile
from rag.evaluation import Haystack
from rag.evaluation.formats import beir, trec
from rag.evaluation.formats.fields import ReadingNotes
from rag.evaluation.formats.question_files import FileLabel, FileQuestion, parse, to_csv, to_jsonl
from tests.unit.test_spreadsheets import FORMULAS

SEPARATORS = "one\u2028two\u2029three\x85four"
FINE = '{"id": "q0", "text": "Fine?"}\n'
DEEP = "[" * 100_000 + "]" * 100_000


def collection(folder: Path, **files: str) -> Path:
    """A BEIR folder; files by name with __ for a dot, in place of the plain ones."""
    plain = {
        "corpus__jsonl": '{"_id": "d1", "title": "", "text": "Unused leave lapses."}\n',
        "queries__jsonl": '{"_id": "q1", "text": "When does it lapse?"}\n',
        "qrels": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
    }
    (folder / "qrels").mkdir(parents=True)
    for name, text in (plain | files).items():
        path = "qrels/test.tsv" if name == "qrels" else name.replace("__", ".")
        (folder / path).write_text(text, "utf-8")
    return folder


def test_a_question_file_ends_lines_at_line_feeds_only():
    label = FileLabel("d1", quote=SEPARATORS)
    question = FileQuestion("q1", SEPARATORS, True, (SEPARATORS,), (label,))
    assert parse("x.jsonl", to_jsonl([question])) == [question]
    assert parse("x.jsonl", to_jsonl([question]).replace("\n", "\r\n")) == [question]


@given(st.text(alphabet="'=+-@\ta ", min_size=1).filter(str.strip))
def test_no_cell_of_a_csv_is_a_formula_and_all_come_back(text):
    text = text.strip()
    question = FileQuestion(text, text, True, (text,), (FileLabel(text, quote=text),))
    written = to_csv([question])
    [row] = csv.DictReader(io.StringIO(written))
    assert not [cell for cell in row.values() if cell[:1] in ("=", "+", "-", "@", "\t")]
    assert parse("x.csv", written) == [question]


def test_a_csv_from_elsewhere_keeps_its_signs():
    [found] = parse("x.csv", "id,question,quote,document\nq1,-5 degrees?,'tis,a.md\n")
    assert (found.text, found.labels[0].quote) == ("-5 degrees?", "'tis")


def test_a_collection_ends_lines_at_line_feeds_only(tmp_path):
    query = json.dumps({"_id": "q\u2028 1", "text": SEPARATORS}, ensure_ascii=False)
    folder = collection(tmp_path, queries__jsonl=query + "\r\n", qrels="q\u2028 1\td\x851\t2\r\n")
    (found,) = beir.read_questions(folder, "test")
    assert (found.text, found.labels) == (SEPARATORS, (FileLabel("d\x851", grade=2),))


def test_judgements_end_lines_at_line_feeds_and_cells_at_ascii_space_only():
    found = trec.read_qrels("x.qrels", "q1 0 a\u2028b 1\r\nq1\t0\tc\xa0d\t-2\n")
    assert found == {"q1": (FileLabel("a\u2028b"), FileLabel("c\xa0d", grade=-2))}


NO_GRADES = {
    **dict.fromkeys(("Infinity", "NaN", "1e400", "9" * 30), "There is a number beyond all bounds"),
    **dict.fromkeys(("1.5", "true", "null", "4294967296"), ".* is not a whole number"),
}


@pytest.mark.parametrize(("value", "said"), NO_GRADES.items())
def test_a_grade_is_a_whole_number(value, said):
    line = f'{{"text": "Why?", "evidence": [{{"document": "d1", "grade": {value}}}]}}'
    with pytest.raises(InvalidFile, match=f"^Line 2: {said}"):
        parse("x.jsonl", FINE + line)


@pytest.mark.parametrize("value", ["2", "2.0", '"2"'])
def test_a_whole_number_is_read_in_any_spelling(value):
    line = f'{{"text": "Why?", "evidence": [{{"document": "d1", "grade": {value}}}]}}'
    assert parse("x.jsonl", line)[0].labels == (FileLabel("d1", grade=2),)


def test_a_number_of_five_thousand_digits_is_bad_json():
    with pytest.raises(InvalidFile, match=r"^Line 2 is not JSON"):
        parse("x.jsonl", FINE + '{"text": "Why?", "weight": ' + "9" * 5000 + "}")


@pytest.mark.parametrize(
    ("offsets", "why"),
    [
        ({"start": 3}, "start and end go together"),
        ({"end": 3}, "start and end go together"),
        ({"start": -1, "end": 3}, "from -1 to 3 is empty"),
        ({"start": 3, "end": 3}, "from 3 to 3 is empty"),
        ({"start": 5, "end": 3}, "from 5 to 3 is empty"),
        ({"start": 0.5, "end": 3}, "“0.5” is not a whole number"),
    ],
)
def test_a_span_has_two_ends_in_order(offsets, why, tmp_path):
    label = {"document": "d1", "quote": "leave", **offsets}
    with pytest.raises(InvalidFile, match=f"^Line 2: .*{why}"):
        parse("x.jsonl", FINE + json.dumps({"text": "Why?", "evidence": [label]}))
    rows = json.dumps({"query_id": "q1", "doc_id": "d1", "answers": [{"end": "", **offsets}]})
    folder = collection(tmp_path, spans__jsonl=rows)
    with pytest.raises(InvalidFile, match=r"^spans\.jsonl, line 1: "):
        beir.read_questions(folder, "test")


def test_a_span_beyond_the_text_is_not_found_there():
    text = Haystack("Short.")
    assert text.locate("", 2, 60) is None
    assert text.locate("ort.", 2, 60) == (2, 6)
    assert text.locate("", 2, 6) == (2, 6)


@pytest.mark.parametrize(
    ("value", "meaning"),
    [(True, True), (False, False), ("false", False), ("No", False), ("0", False), (" yes ", True)],
)
def test_answerable_is_a_boolean_or_a_word_for_one(value, meaning, tmp_path):
    row = {"text": "Why?", "answerable": value}
    assert parse("x.jsonl", json.dumps(row))[0].answerable is meaning
    assert parse("x.csv", f"question,answerable\nWhy?,{value}\n")[0].answerable is meaning
    query = json.dumps({"_id": "q1", "text": "Why?", "metadata": {"answerable": value}})
    folder = collection(tmp_path, queries__jsonl=query)
    assert beir.read_questions(folder, "test")[0].answerable is meaning


@pytest.mark.parametrize("value", ["perhaps", 1, None, []])
def test_anything_else_is_not(value, tmp_path):
    row = {"text": "Why?", "answerable": value}
    with pytest.raises(InvalidFile, match=r"^Line 2: answerable: .* is neither true nor false"):
        parse("x.jsonl", FINE + json.dumps(row))
    query = json.dumps({"_id": "q1", "text": "Why?", "metadata": {"answerable": value}})
    with pytest.raises(InvalidFile, match=r"^queries\.jsonl, line 1: answerable: "):
        beir.read_questions(collection(tmp_path, queries__jsonl=query), "test")


def test_a_csv_word_that_is_neither_names_its_line():
    with pytest.raises(InvalidFile, match=r"^Line 3: answerable: “maybe”"):
        parse("x.csv", "question,answerable\nA?,true\nB?,maybe\n")


@pytest.mark.parametrize("limit", [1 << 17, (1 << 31) - 1])
def test_a_csv_cell_that_is_too_long_names_its_line(limit):
    before = csv.field_size_limit(limit)  # documents that were read before may have raised it
    with pytest.raises(InvalidFile, match=r"^Line 3 cannot be read as CSV: field larger"):
        parse("x.csv", "question,quote\nA?,\nB?," + "x" * 140_000 + "\n")
    csv.field_size_limit(before)


def test_json_that_is_nested_too_deep_names_its_line(tmp_path):
    with pytest.raises(InvalidFile, match=r"^Line 2 is not JSON: it is nested too deep"):
        parse("x.jsonl", FINE + DEEP)
    with pytest.raises(InvalidFile, match=r"^corpus\.jsonl, line 1"):
        next(beir.read_documents(collection(tmp_path, corpus__jsonl=DEEP)))


HALF, NUL = "\\ud800", "\\u0000"
BAD_LINES = [
    '{"text": "a%s b"}',
    '{"text": "Why?", "tags": ["%s"]}',
    '{"text": "Why?", "answer": "%s"}',
    '{"text": "Why?", "group": "%s"}',
    '{"text": "Why?", "id": "%s"}',
    '{"text": "Why?", "%s": "x"}',
    '{"text": "Why?", "evidence": [{"document": "a.md", "quote": "%s"}]}',
    '{"text": "Why?", "evidence": [{"document": "%s"}]}',
    '{"text": "Why?", "evidence": [{"document": "a.md", "page": 9007199254740993}]}',
]


@pytest.mark.parametrize("line", BAD_LINES)
@pytest.mark.parametrize(
    ("sign", "said"), [(HALF, "half a character (a lone surrogate)"), (NUL, "a character 0")]
)
def test_text_that_cannot_be_stored_is_refused_with_its_line(line, sign, said):
    said = said if "%s" in line else "a number beyond all bounds"
    bad = line.replace("%s", sign)
    with pytest.raises(InvalidFile, match=r"^Line 2: ") as refused:
        parse("x.jsonl", FINE + bad)
    assert f"There is {said}" in refused.value.message
    assert refused.value.hint
    notes = ReadingNotes(skip_bad=True)
    assert len(parse("x.jsonl", FINE + bad, notes=notes)) == 1
    assert notes.skipped == (refused.value.message,)


def test_a_pair_of_surrogates_is_a_character():
    (found,) = parse("x.jsonl", '{"text": "a \\ud83d\\ude00"}')
    assert found.text == "a \U0001f600"


@pytest.mark.parametrize(
    ("name", "line"), [("x.csv", "question\nFine?\nW\0hy?"), ("x.txt", "Fine?\n\nW\0hy?")]
)
def test_a_table_with_text_that_cannot_be_stored_is_refused_with_its_line(name, line):
    with pytest.raises(InvalidFile, match=r"^Line 3: There is a character 0") as refused:
        parse(name, line)
    assert refused.value.hint


@pytest.mark.parametrize("sign", [HALF, NUL])
def test_a_collection_with_text_that_cannot_be_stored_is_refused_with_its_line(tmp_path, sign):
    query = '{"_id": "q1", "text": "x%s"}'.replace("%s", sign)
    with pytest.raises(InvalidFile, match=r"^queries\.jsonl, line 1: There is "):
        beir.read_questions(collection(tmp_path, queries__jsonl=query), "test")
    judged = f"q1\td1{chr(0)}\t1"
    with pytest.raises(InvalidFile, match=r"^test\.tsv, line 1: There is a character 0"):
        beir.read_questions(collection(tmp_path / "judged", qrels=judged), "test")


def test_documents_of_a_collection_are_made_storable(tmp_path):
    row = '{"_id": "d\\udc80", "title": "\\ud800", "text": "x\\ud800\\u0000y"}'
    (document,) = beir.read_documents(collection(tmp_path, corpus__jsonl=row))
    assert (document.id, document.full_text) == ("d?", "?\n\nx?y")


def test_judgements_with_text_that_cannot_be_stored_are_refused_with_their_line():
    with pytest.raises(InvalidFile, match=r"^x\.qrels, line 2: There is a character 0"):
        trec.read_qrels("x.qrels", f"q1 0 a.md 1\nq1 0 b{chr(0)}.md 1")


def test_evidence_without_a_document_names_its_line():
    with pytest.raises(InvalidFile, match=r"^Line 2: evidence needs a document"):
        parse("x.jsonl", FINE + '{"text": "Why?", "evidence": [{"quote": "leave"}]}')


@pytest.mark.parametrize("row", ["[1]", '"x"', "{}", "7"])
def test_a_corpus_line_that_is_no_document_is_named(row, tmp_path):
    folder = collection(tmp_path, corpus__jsonl=row)
    with pytest.raises(InvalidFile, match=r"^corpus\.jsonl, line 1: expected an object"):
        list(beir.read_documents(folder))


def test_judgements_in_json_lines_are_those_of_mteb(tmp_path):
    folder = collection(tmp_path, queries__jsonl='{"_id": "q1", "text": "When?"}')
    for path in folder.joinpath("qrels").iterdir():
        path.unlink()
    rows = [{"query-id": "q1", "corpus-id": "a", "score": 2.0}]
    rows += [{"query-id": "q1", "corpus-id": "b", "score": 0}]
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    folder.joinpath("qrels", "dev.jsonl").write_text(lines)
    (question,) = beir.read_questions(folder, None)
    assert [(label.document, label.grade) for label in question.labels] == [("a", 2), ("b", 0)]


def test_scores_of_a_run_file_fall_strictly_in_single_precision():
    text = trec.write_run({"q": [("b", 0.5), ("a", 0.5), ("c", 0.5 - 1e-12), ("d", 0.1)]}, "t")
    cells = [line.split() for line in text.splitlines()]
    assert [each[2] for each in cells] == ["b", "a", "c", "d"]
    assert [each[3] for each in cells] == ["1", "2", "3", "4"]
    parsed = pytrec_eval.parse_run(text.splitlines())["q"]
    ranked = sorted(parsed.items(), key=lambda item: (item[1], item[0]), reverse=True)
    assert [name for name, _ in ranked] == ["b", "a", "c", "d"]
    assert float(cells[0][4]) == 0.5


def test_qrels_are_read_by_cells():
    found = trec.read_qrels("x", "\ufeffq1 0 a -1\n\nq1\t0\tb\t2\nq2 0 a 1\n")
    assert found == {
        "q1": (FileLabel("a", grade=-1), FileLabel("b", grade=2)),
        "q2": (FileLabel("a", grade=1),),
    }


def test_a_question_set_comes_back_whole():
    labels = (FileLabel("=a.md", quote="-5", grade=2), FileLabel("@b.md", start=0, end=9))
    for text in FORMULAS:
        said = text.strip()
        question = FileQuestion("-1", said, True, (said, "b"), labels, "+g", "-40")
        assert parse("x.csv", to_csv([question])) == [question]
        assert parse("x.tsv", to_csv([question])) == [question]


def test_judgements_for_other_tools_have_their_ids_sign_by_sign():
    assert trec.write_qrels({"-q=1": {"@d": 1}}) == "-q=1 0 @d 1\n"
