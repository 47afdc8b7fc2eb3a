"""Columns of tables as quantities: what their marks, dates and signs mean is decided once."""

from __future__ import annotations

from datetime import date

import pytest

from rag.answering.comparing.quantities import column_quantities
from rag.answering.comparing.wordings import superlative


def values(*cells: str) -> list[float | None]:
    return [one and one.low for one in column_quantities(cells, "")]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1.125", "1.25", "1.5", "0.95"), [1.125, 1.25, 1.5, 0.95]),
        (("1,125", "1,25", "0,95"), [1.125, 1.25, 0.95]),
        (("1,200", "950", "12"), [1200, 950, 12]),
        (("1.200", "950"), [1200, 950]),
        (("1.200", "1.234,50"), [1200, 1234.5]),
        (("1,200", "950.50"), [1200, 950.5]),
        (("1.125", "2"), [None, None]),
        (("1.125", "1,125"), [None, None]),
        (("(500)", "300", "120"), [-500, 300, 120]),
        (("(1,500)", "–300", "120"), [-1500, -300, 120]),
        (("(500)", "(300)"), [None, None]),
    ],
)
def test_marks_and_signs_are_read_by_their_column(
    cells: tuple[str, ...], expected: list[float | None]
) -> None:
    assert values(*cells) == expected


def test_the_order_of_dates_is_that_of_their_column() -> None:
    new, old = float(date(2024, 1, 25).toordinal()), float(date(2023, 11, 12).toordinal())
    assert values("01/25/2024", "11/12/2023") == [new, old]
    assert values("25/01/2024", "12/11/2023") == [new, old]
    assert values("25.01.2024", "12.11.2023") == [new, old]
    assert values("03/01/2024", "02/03/2024", "11/12/2023") == [None, None, None]


@pytest.mark.parametrize(
    ("cell", "day"),
    [
        ("5 APRİL 2024", date(2024, 4, 5)),
        ("1. März 2024", date(2024, 3, 1)),
        ("5. Mai 2024", date(2024, 5, 5)),
        ("12. Dez 2024", date(2024, 12, 12)),
        ("1er juillet 2024", date(2024, 7, 1)),
        ("3 de enero de 2024", date(2024, 1, 3)),
        ("Sept. 5, 2024", date(2024, 9, 5)),
        ("March 2024", date(2024, 3, 1)),
    ],
)
def test_months_are_named_in_several_languages(cell: str, day: date) -> None:
    assert values(cell) == [float(day.toordinal())]


@pytest.mark.parametrize(
    "question",
    [
        "Which unit has not the lowest profit?",
        "Which unit doesn't have the lowest profit?",
        "Welche Einheit hat nicht den niedrigsten Gewinn, die billigste?",
    ],
)
def test_a_negated_superlative_is_none(question: str) -> None:
    assert superlative(question) is None
