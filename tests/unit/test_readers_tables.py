"""Rows of tables as lines: CSV, TSV, XLSX."""

import csv
import datetime
import io
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag import Document, Table
from rag.readers import read
from tests.sample_files import put, workbook


def _read(path: Path, text: str) -> Document:
    path.write_text(text)
    return read(path, "x.csv")


def _written(rows: Iterable[Iterable[str]], delimiter: str = ",") -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter).writerows(rows)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("rows", "above", "labels", "expected"),
    [
        ([["Name", "Age"], ["Ada", "36"]], (), ("Name", "Age"), ["Name\tAge", "Ada\t36"]),
        ([["Ada", "36"], ["Bob", "41"]], (), (), ["Ada\t36", "Bob\t41"]),
        (
            [["Report 2024", ""], ["", ""], ["Name", "Age"], ["Ada", ""]],
            ("Report 2024",),
            ("Name", "Age"),
            ["Name\tAge", "Ada"],
        ),
        (
            [["Name", "Age"], ["a\nb", "  3 \t 4 "]],
            (),
            ("Name", "Age"),
            ["Name\tAge", "a b\t3 4"],
        ),
        (
            [["", "Age", "Sex"], ["Ada", "", "f"]],
            (),
            ("", "Age", "Sex"),
            ["\tAge\tSex", "Ada\t\tf"],
        ),
        ([["one"], ["two"]], (), (), ["one", "two"]),
        ([["Name", "Age"]], (), ("Name", "Age"), ["Name\tAge"]),
        ([["same", "same"], ["a", "b"]], (), (), ["same\tsame", "a\tb"]),
        (
            [["Item", "2023", "2024"], ["Sales", "12", "14"]],
            (),
            ("Item", "2023", "2024"),
            ["Item\t2023\t2024", "Sales\t12\t14"],
        ),
        ([["Ada", "1985"], ["Bob", "1990"]], (), (), ["Ada\t1985", "Bob\t1990"]),
        (
            [["Sales", "", ""], ["", "Asia", "", "Europe"], ["Item", "Q1", "Q2", "Q1"], ["Tea"]],
            ("Sales",),
            ("Item", "Asia Q1", "Asia Q2", "Europe Q1"),
            ["\tAsia\t\tEurope", "Item\tQ1\tQ2\tQ1", "Tea"],
        ),
    ],
)
def test_rows_as_lines_and_labels(tmp_path, rows, above, labels, expected):
    document = _read(tmp_path / "x", _written(rows))
    assert document.text.split("\n") == [*above, *expected]
    tables = [(document.text[t.start : t.end], t.labels) for t in document.tables]
    assert tables == ([("\n".join(expected), labels)] if "\t" in expected[0] else [])


def test_a_row_wider_than_the_header_keeps_all_cells(tmp_path):
    rows = [["Name", "Age"], *[["Ada", "36"]] * 12, ["Bob", "41", "extra"]]
    assert _read(tmp_path / "x", _written(rows)).text.endswith("\nBob\t41\textra")


@pytest.mark.parametrize("cell", ["12", "-3.5", "1,200", "12%", "2024-01-31", "31.12.2024"])
def test_a_number_or_date_is_no_label(tmp_path, cell):
    (table,) = _read(tmp_path / "x", _written([["Name", cell], ["Ada", "Bob"]])).tables
    assert table.labels == ()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a,b\n1,2\n", "a\tb\n1\t2"),
        ("a;b\n1,5;2,5\n", "a\tb\n1,5\t2,5"),
        ("a\tb\nx, y\tz\n", "a\tb\nx, y\tz"),
        ("a|b\n1|2\n", "a\tb\n1\t2"),
        ('a,b\n"x;y;z",2\n"p;q;r",3\n', "a\tb\nx;y;z\t2\np;q;r\t3"),
        ("one\ntwo\n", "one\ntwo"),
    ],
)
def test_delimiter(tmp_path, text, shown):
    assert _read(tmp_path / "x", text).text == shown


def test_quoted_cells(tmp_path):
    document = read(
        put(tmp_path, b'Name;Note\r\n"Smith; John";"said ""hi""\nand left"\r\n'), "people.csv"
    )
    assert document.text == 'Name\tNote\nSmith; John\tsaid "hi" and left'
    assert document.media_type == "text/csv"


def test_tsv_keeps_commas(tmp_path):
    document = read(put(tmp_path, "Name\tNote\nAda\ta, b\n"), "x.tsv")
    assert document.text == "Name\tNote\nAda\ta, b"
    assert document.tables == (Table(0, 18, ("Name", "Note")),)


WORD = st.text(st.characters(codec="ascii", categories=["L"]), min_size=1, max_size=8)


@given(st.lists(st.tuples(WORD, WORD), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_every_cell_of_written_csv_comes_back(tmp_path_factory, rows, delimiter):
    path = tmp_path_factory.getbasetemp() / "x"
    rows = [("key", "value"), *rows]
    assert _read(path, _written(rows, delimiter)).text == "\n".join(map("\t".join, rows))


def test_workbook(tmp_path):
    path = tmp_path / "x"
    people = [["Name", "Born"], ["Ada", datetime.date(1815, 12, 10)], [None, None], ["Bob", 3.0]]
    path.write_bytes(workbook(People=people, Nothing=[], Prices=[["Item", "EUR"], ["Tea", 2.5]]))
    document = read(path, "x.xlsx")
    assert document.text == (
        "People\n\nName\tBorn\nAda\t1815-12-10\nBob\t3\n\nPrices\n\nItem\tEUR\nTea\t2.5"
    )
    spans = [(page.number, document.text[page.start : page.end]) for page in document.pages]
    assert spans == [
        (1, "People\n\nName\tBorn\nAda\t1815-12-10\nBob\t3"),
        (3, "Prices\n\nItem\tEUR\nTea\t2.5"),
    ]
    tables = [(document.text[t.start : t.end], t.labels) for t in document.tables]
    assert tables == [
        ("Name\tBorn\nAda\t1815-12-10\nBob\t3", ("Name", "Born")),
        ("Item\tEUR\nTea\t2.5", ("Item", "EUR")),
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
def test_a_value_of_a_workbook(tmp_path, value, text):
    path = put(tmp_path, workbook(People=[["Name", "Value"], ["Ada", value]]))
    assert read(path, "x.xlsx").text == f"People\n\nName\tValue\nAda\t{text}".rstrip("\t")
