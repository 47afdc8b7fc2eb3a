"""Figures within the ranges of table rows: 300 is in "£100 to £500"."""

from __future__ import annotations

import re
from collections.abc import Iterator

_RANGE = re.compile(
    r"(?<![\w.,-])[£$€]?(\d[\d.,]{0,12}) ?(?:to|until|bis|hasta|à|-|–|—) ?"
    r"[£$€]?(\d[\d.,]{0,12})(?![\w-])"
)
_FIGURE = re.compile(r"(?<![\w.,-])[£$€]?(\d[\d.,]{0,12})(?![\w-])")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")


def figures_asked(question: str) -> list[str]:
    """The plain figures of a question, as it writes them."""
    return [match[1].rstrip(".,") for match in _FIGURE.finditer(question)]


def is_in_range(figure: str, row: str) -> bool:
    """Whether a figure is within a range of a row, its ends included."""
    value = _value(figure)
    return value is not None and any(low <= value <= high for low, high in _ranges(row))


def _ranges(row: str) -> Iterator[tuple[float, float]]:
    for match in _RANGE.finditer(row):
        low, high = _value(match[1]), _value(match[2])
        if low is not None and high is not None:
            yield low, high


def _value(figure: str) -> float | None:
    figure = figure.rstrip(".,")
    plain = figure.replace(",", "") if _THOUSANDS.fullmatch(figure) else figure.replace(",", ".")
    try:
        return float(plain)
    except ValueError:  # "1.2.3"
        return None
