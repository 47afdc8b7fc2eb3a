"""Cells of tables as quantities: numbers in base units, dates as days."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from rag.answering.asked_values.units import unit_at
from rag.answering.assessing.validity import MONTH_NUMBERS
from rag.answering.checking.figures import Figure, figures

DATE = "date"
OTHER_WORDS = 16
"""Characters beside its figure that a cell may have and still be a quantity."""
_FACTORS: Mapping[str, Mapping[str, float]] = {
    "time": {
        "second": 1,
        "minute": 60,
        "hour": 3600,
        "day": 86_400,
        "week": 604_800,
        "month": 2_629_800,
        "year": 31_557_600,
    },
    "length": {"millimetre": 0.001, "centimetre": 0.01, "metre": 1, "kilometre": 1000},
    "mass": {"milligram": 0.001, "gram": 1, "kilogram": 1000},
    "volume": {"millilitre": 0.001, "litre": 1},
    "power": {"watt": 1, "kilowatt": 1000},
    "frequency": {"hertz": 1, "kilohertz": 1e3, "megahertz": 1e6, "gigahertz": 1e9},
    "pressure": {
        "pascal": 1,
        "millibar": 100,
        "kilopascal": 1e3,
        "bar": 1e5,
        "megapascal": 1e6,
    },
    "data": {"kilobyte": 1e3, "megabyte": 1e6, "gigabyte": 1e9, "terabyte": 1e12},
}
_BASE = {
    unit: (dimension, factor)
    for dimension, factors in _FACTORS.items()
    for unit, factor in factors.items()
}
_RANGE = re.compile(
    r"\s*+(?:(?!to\b|bis\b)[^\W\d_]{1,3}|°[CF]|%|€|\$)?+\s*+(?:to|bis|-|–|—|…|\.\.\.?)\s*+\+?"
)
_CALENDAR = re.compile(r"\b(?:working|business|calendar)\s+", re.IGNORECASE)
MONTHS = {
    **{name[:3]: number for name, number in MONTH_NUMBERS.items()},
    **MONTH_NUMBERS,
    "jun": 6,
    "juin": 6,
    "jul": 7,
    "juil": 7,
    "mar": 3,
    "mai": 5,
    "sept": 9,
    "mrz": 3,
}
"""Names of months in several languages, whole and abbreviated, by number."""
DOTTED_I = str.maketrans("İı", "ii")
"""Turkish letters that match an "i" of a name when case is ignored, but fold to others."""
_NAMED_DAY = re.compile(
    r"\b(?:(\d{1,2})(?:\.|st|nd|rd|th|er)?\s+(?:of\s|de\s)?)?"
    rf"({'|'.join(sorted(MONTHS, key=len, reverse=True))})\b\.?\s+"
    r"(?:(\d{1,2})(?:st|nd|rd|th)?,\s+|de\s)?((?:19|20)\d\d)\b",
    re.IGNORECASE,
)
_NUMBERED_DAY = re.compile(r"(?<![\w.])(\d{1,2})([/-])(\d{1,2})\2(\d{4})(?![\w-])")
"""Day and month in either order; a point between them says that the day is first."""
_NEGATIVE = re.compile(r"[–‐‑]\s?(?=\d)|\(([€$£¥]?\s?\d[\d.,'’]*+\s?[€$£¥%]?)\)$")
"""A dash before a number, or brackets around all of a cell."""
_EITHER = re.compile(r"[1-9]\d{0,2}([.,])\d{3}")
"""A number whose mark parts thousands or decimals."""
_MARKED = re.compile(r"\d+(?:[.,]\d+)*")
_YEAR_MONTH = re.compile(r"((?:19|20)\d\d)-(0[1-9]|1[0-2])")
_WORD = re.compile(r"[^\W\d_]+")
_LABEL_PART = re.compile(r"[^\W\d_]+|[%€$£¥]")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number or range in the base unit of its ``dimension``, "" where no unit is known.

    Days of dates are counted from the first day of the calendar.
    """

    low: float
    high: float
    dimension: str


def column_quantities(cells: Sequence[str], label: str) -> list[Quantity | None]:
    """Return the quantity of each cell of a column; None for a cell that is none.

    A number without a unit has that of the column's label. All are None where the units of a
    column cannot be compared, or where it does not tell the order of its dates, what the mark in
    its numbers parts, or whether brackets mean less than nothing.
    """
    unit, none = _label_unit(label), [None] * len(cells)
    ordered, decimals = _with_day_first(cells), _decimal_marks(cells)
    filled = [cell for cell in cells if cell.strip()]
    if ordered is None or decimals is None or (filled and all(map(_in_brackets, filled))):
        return list(none)
    quantities = [quantity(_with_minus(cell), unit, decimals) for cell in ordered]
    dimensions = {one.dimension for one in quantities if one is not None}
    return quantities if len(dimensions) == 1 else list(none)


def quantity(cell: str, unit: str = "", decimals: str = "") -> Quantity | None:
    """The quantity that a cell consists of, or None. ``unit`` is that of a bare number.

    ``decimals`` are the marks that part decimals, also where three digits follow.
    """
    day = _day(cell)
    if day is not None:
        return Quantity(day, day, DATE)
    text = _CALENDAR.sub("", cell)
    numbers = [figure for figure in figures(text) if len(figure.parts) == 1]
    if not 1 <= len(numbers) <= 2 or not _is_bare(text, numbers):
        return None
    if len(numbers) == 2 and not _RANGE.fullmatch(text, numbers[0].end, numbers[1].start):
        return None
    last = _measured(numbers[-1], unit, decimals)
    first = _measured(numbers[0], numbers[-1].measure or unit, decimals)
    if first[1] != last[1]:
        return None
    low, high = sorted((first[0], last[0]))
    return Quantity(low, high, last[1])


def _with_day_first(cells: Sequence[str]) -> list[str] | None:
    """The cells of a column with the day before the month; None where they do not tell."""
    matches = [match for cell in cells for match in _NUMBERED_DAY.finditer(cell)]
    day_first = any(int(match.group(1)) > 12 for match in matches)
    month_first = any(int(match.group(3)) > 12 for match in matches)
    if matches and day_first == month_first:
        return None
    if month_first:
        return [_NUMBERED_DAY.sub(r"\3\2\1\2\4", cell) for cell in cells]
    return list(cells)


def _decimal_marks(cells: Sequence[str]) -> str | None:
    """The marks (point, comma) that part decimals in a column; None where it does not tell."""
    numbers = [
        number
        for cell in cells
        if _day(cell) is None and not _NUMBERED_DAY.search(cell)
        for number in _MARKED.findall(cell)
    ]
    either = {match.group(1) for number in numbers if (match := _EITHER.fullmatch(number))}
    if not either:
        return ""
    decimal, thousands = set[str](), set[str]()
    for number in numbers:
        marks = re.sub(r"\d", "", number)
        if not marks or _EITHER.fullmatch(number):
            continue
        if len(marks) == 1 or len(set(marks)) == 2:
            decimal.add(marks[-1])
        thousands.update(marks[:-1] if len(set(marks)) == 2 else marks if len(marks) > 1 else "")
    if decimal & thousands or len(decimal) == 2:
        return None
    if decimal or thousands:
        return "".join(decimal)
    whole = [float(number) for number in numbers if number.isdigit()]
    if len(either) == 2 or ("." in either and any(number < 100 for number in whole)):
        return None
    return ""


def _in_brackets(cell: str) -> bool:
    match = _NEGATIVE.fullmatch(cell.strip())
    return match is not None and match.group(1) is not None


def _with_minus(cell: str) -> str:
    """A cell with the minus sign that its brackets or its dash stand for."""
    return _NEGATIVE.sub(
        lambda match: f"-{(match.group(1) or '').lstrip('€$£¥ ')}", cell.strip(), count=1
    )


def _measured(figure: Figure, unit: str, decimals: str) -> tuple[float, str]:
    """(value, dimension) of a figure; a word that is no unit of measure is one of its own."""
    value = figure.parts[0]
    either = _EITHER.fullmatch(figure.text.lstrip("-−"))
    if either and either.group(1) in decimals:
        value /= 1000
    measure = figure.measure or unit
    if measure == "fahrenheit":
        return (value - 32) / 1.8, "celsius"
    if measure in _BASE:
        dimension, factor = _BASE[measure]
        return value * factor, dimension
    return value, measure or figure.unit


def _is_bare(text: str, numbers: Sequence[Figure]) -> bool:
    outside, at = list[str](), 0
    for figure in numbers:
        outside.append(text[at : figure.start])
        at = figure.end
    letters = sum(len(word) for part in (*outside, text[at:]) for word in _WORD.findall(part))
    return letters <= OTHER_WORDS


def _day(cell: str) -> float | None:
    named = _NAMED_DAY.search(cell)
    month = _YEAR_MONTH.fullmatch(cell.strip())
    try:
        if named:
            number = MONTHS[named.group(2).translate(DOTTED_I).casefold()]
            day = int(named.group(1) or named.group(3) or 1)
            return float(date(int(named.group(4)), number, day).toordinal())
        if month:
            return float(date(int(month.group(1)), int(month.group(2)), 1).toordinal())
        dates = [figure for figure in figures(cell) if len(figure.parts) == 3]
        if len(dates) == 1 and _is_bare(cell, dates):
            day_number, month_number, year = (int(part) for part in dates[0].parts)
            return float(date(year, month_number, day_number).toordinal())
    except ValueError:  # 31 June
        return None
    return None


def _label_unit(label: str) -> str:
    units = (unit_at(f"1 {part}", 0, 1) for part in _LABEL_PART.findall(label.replace("_", " ")))
    return next(filter(None, reversed(list(units))), "")
