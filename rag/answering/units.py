"""Units of measure by how they are written, so that 15 days do not support 15 %."""

from __future__ import annotations

import re

from rag.answering.languages import named

_SYMBOLS = {
    "second": "s",
    "hour": "h",
    "day": "d",
    "metre": "m",
    "square metre": "m² sqm qm",
    "cubic metre": "m³ cbm",
    "millimetre": "mm",
    "centimetre": "cm",
    "kilometre": "km",
    "milligram": "mg",
    "gram": "g",
    "kilogram": "kg",
    "millilitre": "ml mL",
    "litre": "l L",
    "celsius": "°C ℃",
    "fahrenheit": "°F ℉",
    "volt": "V",
    "ampere": "A",
    "watt": "W",
    "kilowatt": "kW",
    "kilowatt hour": "kWh",
    "hertz": "Hz",
    "kilohertz": "kHz",
    "megahertz": "MHz",
    "gigahertz": "GHz",
    "pascal": "Pa",
    "kilopascal": "kPa",
    "megapascal": "MPa",
    "kilobyte": "kB KB",
    "megabyte": "MB",
    "gigabyte": "GB",
    "terabyte": "TB",
    "percent": "% ％",
    "euro": "€",
    "dollar": "$",
    "pound": "£",
    "yen": "¥",
}
_UNITS = {
    **{sign: name for name, signs in _SYMBOLS.items() for sign in signs.split()},
    **{word: name.replace("_", " ") for word, name in named("units").items()},
}
_GAP = r"[ \u00a0\u2009\u202f]?"
_BEHIND = re.compile(rf"{_GAP}[-‐‑]?(°[CF]|[%％℃℉€$£¥]|[^\W\d_]+)")
_BEFORE = re.compile(rf"(?:\b(EUR|USD|GBP|CHF|JPY)|([€$£¥])){_GAP}[-−]?$")


_PREFIX = re.compile(r"kilo|milli|centi|mega|giga|tera|micro")


def unit_of(word: str) -> str:
    """The unit of measure that a word is, by one name for all spellings; "" for another word."""
    return _UNITS.get(word) or _UNITS.get(word.casefold(), "")


def names_unit(text: str, unit: str) -> bool:
    """Whether a text has a unit of measure, by its sign or a word for it."""
    spellings = "|".join(re.escape(one) for one, name in _UNITS.items() if name == unit)
    return re.search(rf"(?<![^\W\d_])(?:{spellings})(?![^\W\d_])", text, re.IGNORECASE) is not None


def base_unit(unit: str) -> str:
    """The unit without the prefix that makes it a power of ten: metre for millimetre."""
    return _PREFIX.sub("", unit, count=1)


def unit_at(text: str, start: int, end: int) -> str:
    """The unit of the number ``text[start:end]``, by one name for all spellings; "" if none is
    known: it may have one all the same, as in the head of a column."""
    behind = _BEHIND.match(text, end)
    if behind:
        written = behind.group(1)
        unit = _UNITS.get(written) or (_UNITS.get(written.casefold()) if written[2:] else None)
        if unit:
            return unit
    before = _BEFORE.search(text[max(start - 6, 0) : start])
    return _UNITS[(before.group(1) or before.group(2)).casefold()] if before else ""
