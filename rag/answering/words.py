"""Words that carry meaning, cut to rough stems, and units of measure by how they are written."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from math import log

from rag.answering.languages import named, numbered
from rag.languages import likeliest

WORD, LETTERS = re.compile(r"\w+"), re.compile(r"[^\W\d_]+")
DIGITS, FIGURE = re.compile(r"\d+"), re.compile(r"\d[\d.,]*")
_GRAMMAR = """
    a about after all also am an and any are as at be been before being but by can could did
    do does for from had has have he her his how i if in into is it its may me might more
    most must my no nor not of on only or our out over shall she should so some such than
    that the their them then there these they this those to under up us was we were what
    when where which who whom whose why will with would you your get gets
"""
_STOPWORDS = frozenset(_GRAMMAR.split())
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ied", "ers", "er", "ed", "es", "s", "y", "e")
_SHORTEST_STEM = 3


def content_words(text: str) -> frozenset[str]:
    """Stems of the words of ``text`` that are not mere grammar; all words if there are no others.

    Stopwords and endings are English; words of other languages pass through whole.
    """
    words = WORD.findall(text.casefold())
    telling = [word for word in words if word not in _STOPWORDS]
    return frozenset(map(_stem, telling or words))


def rarities(texts: Iterable[frozenset[str]]) -> dict[str, float]:
    """log(1 + n / df) of every word over n texts: Spärck Jones' inverse document frequency."""
    word_lists = list(texts)
    counts = Counter(chain.from_iterable(word_lists))
    return {word: log(1 + len(word_lists) / count) for word, count in counts.items()}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            return word.removesuffix(ending)
    return word


def digits_of(word: str, code: str) -> str:
    """Return the digits that a word of a language spells out; "" for other words, such as "DoS"."""
    number = numbered("numbers", code).get(word.lower()) if word[1:].islower() else None
    return str(number or "")


def with_digits(question: str) -> str:
    """Return a question with the figures that it spells out as digits too, as tables write them."""
    code, _ = likeliest(question)
    spelt = (digits_of(word, code) for word in WORD.findall(question))
    return f"{question} {' '.join(filter(None, spelt))}"


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
