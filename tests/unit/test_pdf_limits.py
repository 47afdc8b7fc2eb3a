"""Exactly at the limits by which PDF pages are read: gaps, rules, ruled rows and turned letters."""

import io

import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from rag.readers.pdf.columns import GridRow
from rag.readers.pdf.drawn import Drawn, Rule
from rag.readers.pdf.grids import _merged
from rag.readers.pdf.gutters import _pieces, by_column
from rag.readers.pdf.words import Word, page_words

GUTTER = 110.5  # the middle of the white between columns from 0 to 100 and from 120 to 220


def _across(gap: float = 4.0, raised: float = 0.0) -> list[Word]:
    """Two columns of prose that are drawn across; a line has two words, ``gap`` apart."""
    words = list[Word]()
    for line in range(15):
        for left in (0.0, 120.0):
            top = 14.0 * line
            middle = left + 50
            first = Word("first", left, top, middle, top + 10, len(words))
            top -= raised
            second = Word("second", middle + gap, top, left + 100, top + 10, len(words) + 1)
            words += [first, second]
    return words


def _is_by_column(words: list[Word], drawn: Drawn) -> bool:
    return [word.place for word in by_column(words, drawn)] != [word.place for word in words]


@pytest.mark.parametrize(
    ("gap", "raised", "one_line"),
    [
        (4.5, 0.0, True),
        (4.6, 0.0, False),
        (-1.0, 0.0, True),
        (-1.1, 0.0, False),
        (4.0, 5.0, False),
        (4.0, -5.0, False),
    ],
)
def test_words_are_one_line_up_to_a_gap_and_an_overlap(gap, raised, one_line):
    assert len(list(_pieces(_across(gap, raised)))) == (30 if one_line else 60)


@pytest.mark.parametrize(
    ("rules", "is_prose"),
    [
        ([], True),
        ([Rule(0.0, 220.0, 14.0 * row + 12) for row in range(2)], True),
        ([Rule(0.0, 220.0, 14.0 * row + 12) for row in range(3)], False),
        ([Rule(0.0, GUTTER, 14.0 * row + 12) for row in range(3)], True),
        ([Rule(GUTTER, 220.0, 14.0 * row + 12) for row in range(3)], True),
        ([Rule(0.0, 220.0, 12.1), Rule(0.0, 220.0, 12.2), Rule(0.0, 220.0, 26.0)], True),
    ],
)
def test_more_than_two_rules_across_a_gutter_make_a_table(rules, is_prose):
    assert _is_by_column(_across(), Drawn(across=rules)) == is_prose


def _grid(first_cells: list[str], ruled: int) -> list[GridRow]:
    """The rows after merging: ten points apart, the first ``ruled`` gaps with a line."""
    rows = [
        GridRow([first, f"cell {at}"], [None, None], [], 20.0 * at, 20.0 * at + 10, 10.0)
        for at, first in enumerate(first_cells)
    ]
    lines = [Rule(0.0, 100.0, 20.0 * at + 15) for at in range(ruled)]
    return _merged(rows, Drawn(across=lines), 0.0, 100.0)


@pytest.mark.parametrize(
    ("first_cells", "ruled", "rows"),
    [
        (["a", "b", "c", "d", "e", "f"], 4, 5),  # 4 of 5 are 80%: lines part all rows
        (["a", "b", "c", "d", "e", "f"], 3, 6),
        (["a", "b", ""], 1, 2),
        (["a", "", ""], 0, 3),  # no line, and no row that one could part from the first
    ],
)
def test_lines_are_believed_from_four_fifths_of_the_rows_on(first_cells, ruled, rows):
    assert len(_grid(first_cells, ruled)) == rows


def test_a_page_of_as_many_turned_letters_is_read_as_it_stands():
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(400, 400))
    canvas.drawString(100, 300, "upright")
    canvas.translate(200, 100)
    canvas.rotate(90)
    canvas.drawString(0, 0, "endwise")
    canvas.save()
    document = pypdfium2.PdfDocument(buffer.getvalue())
    words = page_words(document[0]).words
    assert {word.text: word.turned for word in words} == {"upright": False, "endwise": True}
    document.close()
