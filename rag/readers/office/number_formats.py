"""Numbers and dates of Excel as the number format of their cell shows them.

Follows ECMA-376, part 1, 18.8.31. Numbers whose format has fractions, powers of ten, or text within
the digits are shown without it.
"""

from __future__ import annotations

import datetime
import math
import operator
import re
from decimal import ROUND_HALF_UP, Decimal

_PART = re.compile(
    r'"([^"]*)"|\\(.)|[_*].|\[\$([^\]-]{0,8})[^\]]{0,20}\]|\[[^\]]{0,40}\]|([^"\\_*\[])'
)
_DIGITS = re.compile(r"[#0?,.]+")
_TOKEN = re.compile(r'"[^"]*+(?:"|\Z)|\\.|.', re.DOTALL)
_CONDITION = re.compile(r"\[(?P<sign><=|>=|<>|[<>=]) {0,3}(?P<limit>-?\d{1,15}(?:\.\d{1,9})?)\]")
"""Before a section for some numbers only, such as ``[>=1000]0.0,"K"``."""
_COMPARED = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_GREATEST = 1e15
_LONGEST = 255
_SIGNIFICANT = 10


def formatted(value: float, code: str) -> str:
    """``formatted(0.0568, "0.0%")`` is ``"5.7%"``; numbers without a format are rounded to ten
    digits."""
    if not math.isfinite(value) or abs(value) >= _GREATEST:
        return general(value)
    tokens = _TOKEN.findall(code[:_LONGEST])
    sections = "".join("\0" if token == ";" else token for token in tokens).split("\0")
    section = _section_for(value, sections)
    shown = None if section is None else _in_section(abs(value), section)
    if section is None or shown is None:
        return general(value)
    signed = section is not sections[0] and ("-" in section or "(" in section)
    return shown if signed or value >= 0 else f"-{shown}"


def _section_for(value: float, sections: list[str]) -> str | None:
    """The section by its condition, or else that of positive, negative or zero numbers."""
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        pairs = zip(sections, conditions, strict=True)
        return next(
            (
                section
                for section, condition in pairs
                if condition is None
                or _COMPARED[condition["sign"]](value, float(condition["limit"]))
            ),
            None,
        )
    if value == 0 and len(sections) > 2 and "?" not in sections[2]:  # a dash says less than "$0"
        return sections[2]
    return sections[1] if value < 0 and len(sections) > 1 else sections[0]


def general(value: float) -> str:
    """A number without a format: whole numbers without a decimal point."""
    if isinstance(value, int) or (value.is_integer() and abs(value) < _GREATEST):
        return str(int(value))
    text = f"{value:.{_SIGNIFICANT}g}"
    return str(value) if "e" in text else text


def formatted_day(value: datetime.date, code: str) -> str:
    """A day in ISO 8601, with only the year and the month where the format shows no more."""
    letters = "".join(match.group(4) or "" for match in _PART.finditer(code[:_LONGEST])).lower()
    if "y" not in letters or "d" in letters:
        return value.isoformat()
    return f"{value:%Y-%m}" if "m" in letters else f"{value:%Y}"


def _in_section(value: float, section: str) -> str | None:
    """A number that is not negative; None where the section is not understood."""
    parts, signs = list[str](), list[str]()
    for match in _PART.finditer(section):
        quoted, escaped, currency, sign = match.groups()
        signs.append(sign or "\0")
        parts.append(sign or quoted or escaped or currency or "")
    if set(signs) == {"\0"} and "".join(parts).strip():
        return "".join(parts).strip()  # words in place of the number
    places = [run for run in _DIGITS.finditer("".join(signs)) if run.group().strip(",.")]
    if (
        len(places) != 1
        or places[0].group().count(".") > 1
        or re.search(r"[/@]|general|e[+-]", "".join(signs), re.IGNORECASE)
    ):
        return None
    start, end = places[0].span()
    before, after = "".join(parts[:start]).lstrip(), "".join(parts[end:]).rstrip()
    return (
        before + _digits(Decimal(repr(value)) * 100 ** signs.count("%"), places[0].group()) + after
    )


def _digits(value: Decimal, places: str) -> str:
    scaled = places.rstrip(",")
    value /= 1000 ** (len(places) - len(scaled))
    whole, _, fraction = scaled.partition(".")
    value = value.quantize(Decimal(1).scaleb(-len(fraction)), ROUND_HALF_UP)  # as Excel does
    text = f"{value:,f}" if "," in whole else f"{value:f}"
    left, point, right = text.partition(".")
    optional = len(fraction) - len(fraction.rstrip("#?"))
    kept = len(fraction) - optional
    right = right[:kept] + right[kept:].rstrip("0")
    return left.zfill(whole.count("0")) + (point + right if right else "")
