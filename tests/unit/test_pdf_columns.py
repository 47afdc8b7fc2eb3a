"""Cells of a table's row in a PDF: a line between two columns parts the rows that it runs along."""

from __future__ import annotations

import pytest

from rag.readers.pdf.columns import Columns, grid_rows
from rag.readers.pdf.drawn import Drawn, Rule
from rag.readers.pdf.rows import Row, Segment
from rag.readers.pdf.words import Word

TOP, BOTTOM = 100.0, 110.0
MIDDLE = 105.0
CUT = 50.0
ABOVE = Rule(0.0, 90.0, CUT)


def test_a_line_counts_as_one_in_whatever_order_its_parts_were_drawn() -> None:
    parts = [Rule(60.0, 100.0, MIDDLE), Rule(0.0, 30.0, MIDDLE), Rule(30.0, 60.0, MIDDLE)]
    assert Drawn(across=parts).rules_off(TOP, BOTTOM, 0.0, 100.0)
    # The same stretch drawn twice is as long as drawn once.
    assert not Drawn(across=[parts[0], parts[0]]).rules_off(TOP, BOTTOM, 0.0, 100.0)


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
def test_a_line_along_a_row_parts_its_words(rule: Rule) -> None:
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
def test_a_line_that_ends_before_or_stands_elsewhere_does_not(rule: Rule) -> None:
    assert cells(rule) == ["mine theirs", ""]
