"""Figures within the ranges of table rows and items: £300 is in "£100 to £500", "over £100"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nextafter

from rag.answering.statements.rows import BETWEEN
from rag.answering.words import in_digits
from rag.lexical.languages import likeliest

_ASKED = re.compile(
    r"(?<![\w.,:/-])(?P<sign>[£$€¥])?(?P<figure>\d[\d.,]{0,12})(?![\w:/-])"
    r"(?: ?(?P<unit>[£$€¥%]|[^\W\d_]{2,30}))?"
)
_RANGE = re.compile(
    r"(?<![\w.,:/-])[£$€¥]?(\d(?:[\d.,]{0,11}\d)?)(?: ?[£$€¥%]| [^\W\d_]{1,12})?"
    r" ?(?:to|until|bis|hasta|à|до|至|-|–|—|~|(?P<and>and|und|et|y)) ?[£$€¥]?"
    r"(\d(?:[\d.,]{0,11}\d)?)"
    r"(?![\d/-]|:\d|[^\W\d_]\d)"
)
_BETWEEN = re.compile(r"\b(?:between|zwischen|entre)\s\Z", re.IGNORECASE)
_OPEN = re.compile(
    r"(?:\b(?P<no>(?:not|no|never|nicht|pas) )?"
    r"(?:(?P<under>less than|fewer than|under|below|unter|weniger als|menos de|moins de)"
    r"|(?P<most>up to|at most|bis zu|höchstens|hasta|jusqu['’]à)"
    r"|(?P<over>more than|greater than|over|above|über|mehr als|más de|plus de)"
    r"|(?P<least>at least|from|ab|mindestens|desde|au moins|à partir de)) |(?P<sign>[≤<≥>]=?) ?)"
    r"[£$€¥]?(?P<figure>\d(?:[\d.,]{0,11}\d)?)(?![\d:/]|[-–—][^\W_]|[^\W\d_]\d)"
    r"|(?<![\w.,:/-])[£$€¥]?(?P<end>\d(?:[\d.,]{0,11}\d)?)(?: ?[£$€¥%]| [^\W\d_]{1,12})?"
    r" (?:(?P<or_more>or (?:more|over|older|above)|und mehr|o más|et plus)"
    r"|(?P<or_less>or (?:less|fewer|under|below)|oder weniger|o menos|ou moins))",
    re.IGNORECASE,
)
"""Ends of ranges: "less than 2 days", "over 5 kg up to 10 kg", "5 years or older"."""
_COMMAS, _POINTS = re.compile(r"\d{1,3}(?:,\d{3})+"), re.compile(r"\d{1,3}(?:\.\d{3})+")
_REACH = 12
"""Characters before a range in which "between" stands."""
_STEM = 5
"""Letters that two forms of a unit begin with alike."""


@dataclass(frozen=True, slots=True)
class AskedFigure:
    """A figure as a question writes it, with the currency or the noun that it counts."""

    text: str
    unit: str

    def is_in_range(self, row: str) -> bool:
        """Whether a cell of a row, or an item, has a range of this unit that includes the figure.

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
    """The figures of a question that have a unit; it may spell them out."""
    digits = in_digits(question, likeliest(question)[0])
    return [
        AskedFigure(match["figure"].rstrip(".,"), (match["sign"] or match["unit"]).casefold())
        for match in _ASKED.finditer(digits)
        if match["sign"] or match["unit"]
    ]


def _ranges(cell: str) -> Iterator[tuple[float, float]]:
    """The ranges of a cell; ends that stand apart, "over 5 kg up to 10 kg", are those of one."""
    whole = [
        match
        for match in _RANGE.finditer(cell)
        if not match["and"] or _BETWEEN.search(cell, max(match.start() - _REACH, 0), match.start())
    ]
    for match in whole:
        low, high = _value(match[1]), _value(match[3])
        if low is not None and high is not None:
            yield low, high
    ends = [
        _open_range(match)
        for match in _OPEN.finditer(cell)
        if not any(one.start() < match.end() and match.start() < one.end() for one in whole)
    ]
    low = max((low for low, _ in ends), default=-inf)
    high = min((high for _, high in ends), default=inf)
    if (low, high) != (-inf, inf):
        yield low, high


def _open_range(match: re.Match[str]) -> tuple[float, float]:
    """The range with the end that a match names; all figures where it is none."""
    value = _value(match["figure"] or match["end"])
    if value is None:
        return -inf, inf
    sign = match["sign"] or ""
    if (match["under"] and not match["no"]) or sign == "<":
        return -inf, nextafter(value, -inf)
    if (match["over"] and not match["no"]) or sign == ">":
        return nextafter(value, inf), inf
    if match["most"] or match["or_less"] or match["over"] or sign == "<=" or sign == "≤":
        return -inf, value
    return value, inf


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
