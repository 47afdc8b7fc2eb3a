"""Rows of tables as lines: CSV, TSV, XLSX."""

import csv
import datetime
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.readers import read
from rag.readers.office.sheets import cell_text
from rag.readers.tables import is_header, lines
from rag.readers.tabular import sniff_delimiter
from tests.sample_files import workbook


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([["Name", "Age"], ["Ada", "36"]], ["Name: Ada; Age: 36"]),
        ([["Ada", "36"], ["Bob", "41"]], ["Ada; 36", "Bob; 41"]),
        (
            [["Report 2024", ""], ["", ""], ["Name", "Age"], ["Ada", ""]],
            ["Report 2024", "Name: Ada"],
        ),
        ([["Name", "Age"], ["a\nb", "  3  4 "]], ["Name: a b; Age: 3 4"]),
        ([["", "Age", "Sex"], ["Ada", "36", "f"]], ["Ada; Age: 36; Sex: f"]),
        ([["Name", "Age"], ["Ada", "36", "extra"]], ["Name; Age", "Ada; 36; extra"]),
        ([["one"], ["two"]], ["one", "two"]),
        ([["Name", "Age"]], ["Name; Age"]),
        ([["same", "same"], ["a", "b"]], ["same; same", "a; b"]),
        ([], []),
    ],
)
def test_lines(rows: list[list[str]], expected: list[str]) -> None:
    assert list(lines(rows)) == expected


def test_a_row_wider_than_the_header_keeps_all_cells() -> None:
    rows = [["Name", "Age"], *[["Ada", "36"]] * 12, ["Bob", "41", "extra"]]
    assert list(lines(rows))[-1] == "Name: Bob; Age: 41; extra"


@pytest.mark.parametrize("cell", ["12", "-3.5", "1,200", "12%", "2024-01-31", "31.12.2024"])
def test_a_number_or_date_is_no_label(cell: str) -> None:
    assert not is_header(["Name", cell])


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n", ";"),
        ("a\tb\nx, y\tz\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('a,b\n"x;y;z",2\n"p;q;r",3\n', ","),
        ("one\ntwo\n", ","),
    ],
)
def test_delimiter(text: str, delimiter: str) -> None:
    assert sniff_delimiter(text) == delimiter


def test_quoted_cells(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b'Name;Note\r\n"Smith; John";"said ""hi""\nand left"\r\n')
    document = read(path, "people.csv")
    assert document.text == 'Name: Smith; John; Note: said "hi" and left'
    assert document.media_type == "text/csv"


def test_tsv_keeps_commas(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text("Name\tNote\nAda\ta, b\n")
    assert read(path, "x.tsv").text == "Name: Ada; Note: a, b"


WORD = st.text(st.characters(codec="utf-8", categories=["L"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_every_cell_of_written_csv_comes_back(rows: list[tuple[str, str]], delimiter: str) -> None:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows([("key", "value"), *rows])
    read_back = csv.reader(io.StringIO(buffer.getvalue()), delimiter=delimiter)
    assert sniff_delimiter(buffer.getvalue()) == delimiter
    assert list(lines(read_back)) == [f"key: {key}; value: {value}" for key, value in rows]


def test_workbook(tmp_path: Path) -> None:
    path = tmp_path / "x"
    people = [["Name", "Born"], ["Ada", datetime.date(1815, 12, 10)], [None, None], ["Bob", 3.0]]
    path.write_bytes(workbook(People=people, Nothing=[], Prices=[["Item", "EUR"], ["Tea", 2.5]]))
    document = read(path, "x.xlsx")
    assert document.text == (
        "People\n\nName: Ada; Born: 1815-12-10\nName: Bob; Born: 3\n\nPrices\n\nItem: Tea; EUR: 2.5"
    )
    spans = [(page.number, document.text[page.start : page.end]) for page in document.pages]
    assert spans == [
        (1, "People\n\nName: Ada; Born: 1815-12-10\nName: Bob; Born: 3"),
        (3, "Prices\n\nItem: Tea; EUR: 2.5"),
    ]
    assert [(item.title, item.level) for item in document.headings] == [
        ("People", 1),
        ("Prices", 1),
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "yes"),
        (7.0, "7"),
        (7.25, "7.25"),
        (datetime.datetime(2024, 1, 31), "2024-01-31"),
        (datetime.datetime(2024, 1, 31, 12, 30), "2024-01-31 12:30:00"),
        (datetime.time(8, 15), "08:15:00"),
    ],
)
def test_cell_text(value: object, text: str) -> None:
    assert cell_text(value) == text
