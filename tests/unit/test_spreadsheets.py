"""No cell of a CSV is a formula; texts come back as they were, and numbers are numbers."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.spreadsheets import csv_text, unguard_cell

FORMULAS = [
    *("=1+1", "+1+1", "-1+1", "@SUM(A1)", "=cmd|' /C calc'!A0", "-cmd|' /C calc'!A0"),
    *("\t=1", "\r=1", "\n=1", " =1", "\u00a0=1", "\uff1d1+1", "\uff0b1", "\uff0d1+1", "\uff20A1"),
    *('=HYPERLINK("http://evil.example","more")', "-", "--", "+49 30 1234", "-5 degrees"),
]


def cells(written: str) -> list[str]:
    return next(csv.reader(io.StringIO(written, newline="")))


@pytest.mark.parametrize("text", FORMULAS)
def test_what_a_spreadsheet_would_run_is_text(text):
    [cell] = cells(csv_text(["a"], [[text]]).partition("\n")[2])
    assert cell == f"'{text}"
    assert unguard_cell(cell) == text


@pytest.mark.parametrize(
    "text", ["-5", "+3", "1.5", "-1,000.25", "2e-3", "0", "why?", "'tis", "a=b"]
)
def test_numbers_and_plain_texts_are_as_they_are(text):
    assert cells(csv_text(["a"], [[text]]).partition("\n")[2]) == [text]
    assert unguard_cell(text) == text


def test_figures_are_figures_and_nothing_is_an_empty_cell():
    assert csv_text(["a", "b", "c"], [[-5, None, "x"]]) == "a,b,c\n-5,,x\n"


@given(st.text(alphabet="'=+-@\uff1d\t\r\n ,;\"\u00a0a5.", min_size=1))
def test_every_text_comes_back(text):
    [cell] = cells(csv_text(["a"], [[text]]).partition("\n")[2])
    assert unguard_cell(cell) == text
    assert cell == text or cell == f"'{text}"
