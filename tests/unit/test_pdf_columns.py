"""Cells of a table's row in a PDF: a line between two columns parts the rows that it runs along."""

import io

import numpy as np
import pypdfium2
import pytest
from reportlab.pdfgen.canvas import Canvas

from rag.readers.pdf.columns import Columns, GridRow, columns_of, grid_rows
from rag.readers.pdf.drawn import Drawn, Rule
from rag.readers.pdf.grids import FoundTable, _merged
from rag.readers.pdf.layout import _pieces, by_column
from rag.readers.pdf.rows import Row, Segment, regions
from rag.readers.pdf.words import Turn, Word, page_words

TOP, BOTTOM = 100.0, 110.0
MIDDLE = 105.0
CUT = 50.0
ABOVE = Rule(0.0, 90.0, CUT)


def test_a_line_counts_as_one_in_whatever_order_its_parts_were_drawn():
    parts = [Rule(60.0, 100.0, MIDDLE), Rule(0.0, 30.0, MIDDLE), Rule(30.0, 60.0, MIDDLE)]
    assert Drawn(across=parts).rules_off(TOP, BOTTOM, 0.0, 100.0)
    # The same stretch drawn twice is as long as drawn once.
    assert not Drawn(across=[parts[0], parts[0]]).rules_off(TOP, BOTTOM, 0.0, 100.0)


def test_boundaries_go_from_left_to_right_be_they_drawn_or_white():
    rows = [
        Row(
            [
                Segment([Word("word", left, top, left + 20, top + 10, place)])
                for place, left in enumerate((0, 60, 120))
            ],
            *(top, top + 10, 10),
        )
        for top in (100, 115, 130)
    ]
    found = columns_of(rows, Drawn(down=[Rule(95.0, 145.0, 40.0)]))
    assert found.drawn == [40.0]
    assert found.cuts == pytest.approx([40.0, 100.0], abs=0.5)


def test_one_box_is_turned_as_many_are():
    turn = Turn((1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 100.0, 200.0)
    # From (1 + 4 + 3, 4 + 10 + 6) to (3 + 8 + 3, 12 + 20 + 6).
    assert turn.box(1.0, 2.0, 3.0, 4.0) == (8.0, 20.0, 14.0, 38.0)
    assert turn.boxes(np.array([[1.0, 2.0, 3.0, 4.0]])).tolist() == [[8.0, 20.0, 14.0, 38.0]]


def test_a_caption_after_a_gap_does_not_hide_the_table_below_it():
    def row(top: float, *texts: str) -> Row:
        words = [Word(t, 100.0 * n, top, 100.0 * n + 40, top + 10, n) for n, t in enumerate(texts)]
        return Row([Segment([word]) for word in words], top, top + 10, 10)

    rows = [row(0, "Far above"), row(100, "Caption")]
    rows += [row(115 + 15 * n, f"name {n}", f"{n}1", f"{n}7") for n in range(4)]
    assert list(regions(rows, Drawn())) == [(2, 5)]


@pytest.mark.parametrize(
    ("rows", "labels", "middle", "expected"),
    [
        ([["June", "3"], ["July", "4"]], ("Month", "Sum"), 50.0, True),
        ([["June", "3"], ["Month", "Sum"]], ("Month", "Sum"), 62.0, True),
        ([["June", "3"], ["July", "4"]], ("Month", "Sum"), 63.0, False),  # other columns
        ([["Month", "Sum"], ["July", "4"]], ("Month", "Sum"), 50.0, False),  # a header of its own
        ([["May", "2"], ["July", "4"]], ("Month", "Sum"), 50.0, True),
        ([["June", "3"], ["July", "4"]], (), 50.0, False),
    ],
)
def test_a_table_goes_on_under_the_same_columns_without_its_header(rows, labels, middle, expected):
    before = FoundTable([["Month", "Sum"], ["May", "2"]], labels, (10.0, 50.0))
    assert FoundTable(rows, (), (10.0, middle)).continues(before) is expected


def cells(*rules: Rule) -> list[str]:
    """Of a row with two words at the boundary, too near each other to be two cells without it."""
    words = [Word("mine", 30, TOP, 48, BOTTOM, 0), Word("theirs", 52, TOP, 80, BOTTOM, 1)]
    row = Row([Segment(words)], TOP, BOTTOM, BOTTOM - TOP)
    (found,) = grid_rows([row], Columns([CUT], [CUT]), Drawn(down=[ABOVE, *rules]))
    assert found.spans == ([] if found.cells[1] else [(0, 1)])
    return found.cells


@pytest.mark.parametrize(
    "rule",
    [
        Rule(90.0, 120.0, CUT),
        Rule(90.0, 120.0, CUT + 1.0),
        Rule(90.0, 120.0, CUT - 1.0),
        Rule(MIDDLE, 120.0, CUT),
        Rule(90.0, MIDDLE, CUT),
    ],
)
def test_a_line_along_a_row_parts_its_words(rule):
    assert cells(rule) == ["mine", "theirs"]


@pytest.mark.parametrize(
    "rule",
    [
        Rule(90.0, 104.0, CUT),
        Rule(106.0, 120.0, CUT),
        Rule(90.0, 120.0, CUT + 1.5),
        Rule(90.0, 120.0, CUT - 2.0),
    ],
)
def test_a_line_that_ends_before_or_stands_elsewhere_does_not(rule):
    assert cells(rule) == ["mine theirs", ""]


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
