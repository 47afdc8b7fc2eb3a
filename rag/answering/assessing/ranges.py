"""Figures within the ranges of table rows: £300 is in "£100 to £500"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rag.answering.rows import BETWEEN

_ASKED = re.compile(
    r"(?<![\w.,:/-])(?P<sign>[£$€¥])?(?P<figure>\d[\d.,]{0,12})(?![\w:/-])"
    r"(?: ?(?P<unit>[£$€¥%]|[^\W\d_]{2,30}))?"
)
_RANGE = re.compile(
    r"(?<![\w.,:/-])[£$€¥]?(\d(?:[\d.,]{0,11}\d)?)(?: ?[£$€¥%]| [^\W\d_]{1,12})?"
    r" ?(?:to|until|bis|hasta|до|至|-|–|—|~) ?[£$€¥]?(\d(?:[\d.,]{0,11}\d)?)(?![\d:/-]|[^\W\d_]\d)"
)
_COMMAS, _POINTS = re.compile(r"\d{1,3}(?:,\d{3})+"), re.compile(r"\d{1,3}(?:\.\d{3})+")
_STEM = 5
"""Letters that two forms of a unit begin with alike."""


@dataclass(frozen=True, slots=True)
class AskedFigure:
    """A figure as a question writes it, with the currency or the noun that it counts."""

    text: str
    unit: str

    def is_in_range(self, row: str) -> bool:
        """Whether a cell of a row has a range of this unit that includes the figure.

        The cell itself or the name of its column has the unit: phone numbers, times and scores
        are no ranges of pounds.
        """
        value = _value(self.text)
        return value is not None and any(
            low <= value <= high
            for cell in row.split(BETWEEN)
            if self._is_unit_of(cell)
            for low, high in _ranges(cell)
        )

    def _is_unit_of(self, cell: str) -> bool:
        if not self.unit[:1].isalpha():
            return self.unit in cell
        words = re.findall(r"[^\W\d_]+", cell.casefold())
        return any(word.startswith(self.unit[:_STEM]) for word in words)


def asked_figures(question: str) -> list[AskedFigure]:
    """The figures of a question that have a unit."""
    return [
        AskedFigure(match["figure"].rstrip(".,"), (match["sign"] or match["unit"]).casefold())
        for match in _ASKED.finditer(question)
        if match["sign"] or match["unit"]
    ]


def _ranges(cell: str) -> Iterator[tuple[float, float]]:
    for match in _RANGE.finditer(cell):
        low, high = _value(match[1]), _value(match[2])
        if low is not None and high is not None:
            yield low, high


def _value(figure: str) -> float | None:
    figure = figure.rstrip(".,")
    if _COMMAS.fullmatch(figure):
        figure = figure.replace(",", "")
    elif _POINTS.fullmatch(figure):
        figure = figure.replace(".", "")
    try:
        return float(figure.replace(",", "."))
    except ValueError:  # "1.2.3"
        return None
