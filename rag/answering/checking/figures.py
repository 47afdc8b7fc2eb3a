"""Figures of a text by value, however they are written: 1,000 and 1 000, 3/4 and three quarters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from rag.answering.assessing.dates import SHORT_MONTHS
from rag.answering.citations import Mention
from rag.answering.languages import alternatives, any_of, listed, named, numbered
from rag.answering.words import unit_at

_GAP = r"[ \u00a0\u2009\u202f]"
_VULGAR = "[¼-¾⅐-⅞]"
_WRITTEN = re.compile(
    rf"(?<![\w/⁄.,])(?:(?:(?P<before>\d{{1,3}}){_GAP}?)?(?P<sign>{_VULGAR})"
    rf"|(?:(?P<whole>\d{{1,3}}){_GAP})?(?P<over>\d{{1,2}})[/⁄](?P<under>\d{{1,2}})(?![\d/⁄]|[.,]\d))"
)
_UNDER = frozenset({2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64})
"""What is divided by: 24/7 and 110/220 are two numbers each."""
_COUNTS = {**dict.fromkeys(listed("articles"), 1), **numbered("numbers")}
_PARTS = {word: int(part) for word, part in named("fractions").items()}
_SPELT_FRACTION = re.compile(
    rf"\b(?:(?P<whole>\d{{1,3}}|{alternatives('articles', 'numbers')}) (?:{alternatives('and')}) )?"
    rf"(?P<over>{alternatives('articles', 'numbers')})[ -](?P<under>{alternatives('fractions')})\b",
    re.IGNORECASE,
)
_BETWEEN = alternatives("and", "out_of")


@dataclass(frozen=True, slots=True)
class Fraction:
    """``text[start:end]`` has ``value``; ``numbers`` are those that a stroke or a gap parts."""

    start: int
    end: int
    value: float
    numbers: tuple[float, ...] = ()


def written_fractions(text: str) -> Iterator[Fraction]:
    """Yield the fractions in digits and signs, in order."""
    for match in _WRITTEN.finditer(text):
        if sign := match["sign"]:
            value = float(match["before"] or 0) + unicodedata.numeric(sign)
            yield Fraction(*match.span(), value)
            continue
        over, under = int(match["over"]), int(match["under"])
        if 0 < over < under and under in _UNDER:
            numbers = [float(part) for part in (match["whole"], over, under) if part is not None]
            value = float(match["whole"] or 0) + over / under
            yield Fraction(*match.span(), value, tuple(numbers))


def spelt_fractions(text: str) -> Iterator[Fraction]:
    """Yield the fractions in words, in order."""
    for match in _SPELT_FRACTION.finditer(text):
        whole, over, under = ((match[k] or "").casefold() for k in ("whole", "over", "under"))
        value = _COUNTS.get(over, 0) / _PARTS.get(under, 1)
        value += float(_COUNTS.get(whole) or whole or 0)
        yield Fraction(*match.span(), value)


def says_pair(text: str, numbers: tuple[float, ...]) -> bool:
    """Whether two numbers stand side by side: "3 of 4", "3 or 4", "3 and 4"."""
    if len(numbers) != 2:
        return False
    over, under = (f"{number:.0f}" for number in numbers)
    pattern = rf"(?<![\d.,]){over}\W+(?:(?:{_BETWEEN})\W+)?{under}(?!\d|[.,]\d)"
    return re.search(pattern, text, re.IGNORECASE) is not None


_DATE = re.compile(
    r"(?<![\w.])(?:(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"
    r"|(?P<d2>\d{1,2})[./-](?P<m2>\d{1,2})[./-](?P<y2>\d{4}))(?![\w-])"
)
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u30ff\u3130-\u318f"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
)
"""Letters of scripts that put no space between a word and a number: 共15天, 20日."""
_LETTER, _SIGN = rf"[^\W\d_{_UNSPACED}]", rf"[^\W{_UNSPACED}]"
_ALONE = rf"[^\W_{_UNSPACED}]"
_CURRENCY = r"(?:EUR|USD|GBP|CHF|JPY)\d"
_CODE = re.compile(
    rf"(?<!{_SIGN})(?!{_CURRENCY})(?:{_LETTER}+(?=\d)|[A-ZÄÖÜ]+(?=[-./_]\d))(?:[-./_]?{_SIGN}+)*"
)
"""Letters that go on with digits: ``CV-118``, ``U700``, ``RF24-02500``. Names, not amounts."""
_MINUS = re.compile(r"(?:^|[\s(\[])[-−]$")
_LESS = re.compile(rf"{any_of('less_than_nothing')}|[–‐‑]", re.IGNORECASE)
"""Words, and other dashes, by which a number is less than nothing."""
_NUMBER = re.compile(
    rf"(?<![\d.,])\d{{1,3}}(?:{_GAP}\d{{3}})+(?![\d])(?:[.,]\d+)?"  # 15 000
    r"|\d+(?:[.,'’]\d+)*"
)
_SCALE = {word: float(value) for word, value in named("scales").items()}
_SCALED = re.compile(rf"{_GAP}?({alternatives('scales')})\b", re.IGNORECASE)
_UNIT = re.compile(rf"{_GAP}?({_LETTER}+|%|[^\W\d_])")
_CLOCK = "time of day"
"""The measure of the numbers of 15:30, which are no 15 days."""
_LISTED = re.compile(r"^[ \t]*[“„«]?\(?\d{1,3}[.)](?=\s)", re.MULTILINE)
_AMOUNTS: dict[str, float] = {
    **{word: 10.0 * number for word, number in numbered("tens").items()},
    **numbered("numbers"),
}
_ORDINALS = numbered("ordinals")
_SPELT = {
    **_AMOUNTS,
    **_SCALE,
    **_ORDINALS,
    **{word: 1 / int(part) for word, part in named("fractions").items() if part == "2"},
    **numbered("multiples"),
}
_SEVERAL = "|".join(word for word in _AMOUNTS if _SPELT[word] >= 3)
"""Words that are amounts where a unit follows. "One" and "two" of a text often count nothing."""
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_SPELT_UNIT = re.compile(rf"\b({_SEVERAL}){_GAP}(?=([^\W\d_]{{2,}}))", re.IGNORECASE)
_RUNS = re.compile(r"[^\W\d_]+|\d+")


@dataclass(frozen=True, slots=True)
class Figure:
    """``text[start:end]`` is a number; ``parts`` are the values it may be read as together.

    ``parts`` has one value, or day, month and year of a date; ``month`` says which of them may be
    written as a word. A code has no parts: it is a name with digits in it.
    """

    start: int
    end: int
    text: str
    parts: tuple[float, ...] = ()
    month: float | None = None
    apart: tuple[float, ...] = ()
    """The values of its groups: the gap in it may part two numbers, as of a row."""
    unit: str = ""
    """The word behind it, as far as it may be its unit."""
    measure: str = ""
    """Its unit of measure by one name for all spellings, "" where none is known."""
    pair: tuple[float, ...] = ()
    """The two numbers of a fraction with a stroke, which may mean "3 of 4" or "3 or 4"."""


class KnownFigures:
    """The figures that some text holds, to be asked for others."""

    def __init__(self, text: str) -> None:
        self._text = text
        parsed = list(figures(text))
        self._units = {one.unit for one in parsed if one.unit}
        self._values: dict[float, set[str]] = {}  # and the units of measure that each has
        for one in parsed:
            measure = _CLOCK if _of_clock(text, one) else one.measure
            for value in one.parts:
                self._note(value, measure)
            for value in one.apart:
                self._note(value)
        for value, measure in _spelt(text):
            self._note(value, measure)
        negative = _LESS.search(text) is not None
        for value, measures in list(self._values.items()):
            for other in (abs(value), *((-value,) if negative else ())):
                self._values.setdefault(other, set()).update(measures)
        months = (SHORT_MONTHS.get(word) for word in _RUNS.findall(text.casefold()))
        self._months = {*self._values, *(month for month in months if month)}

    def holds(self, figure: Figure) -> bool:
        """Whether a figure is there, by its value; a code by its letters and digits.

        With another unit of measure it is not; one without any may have that of the figure.
        """
        if not figure.parts:
            return _code_pattern(figure.text).search(self._text) is not None
        rest = [value for value in figure.parts if value != figure.month]
        if figure.month is not None and figure.month not in self._months:
            return False
        if figure.pair and says_pair(self._text, figure.pair):
            return True
        return all(self._has(value, figure.measure) for value in rest)

    def holds_word(self, word: str) -> bool:
        """Whether a number word has a value that is there: "four" where the text says 4."""
        value = _SPELT.get(word.casefold())
        return value is not None and self._has(value)

    def holds_month(self, name: str) -> bool:
        """Whether a month is there, by its name or its number."""
        return SHORT_MONTHS.get(name.casefold()) in self._months

    def holds_otherwise(self, figure: Figure) -> bool:
        """Whether a figure is there, but with other units of measure only."""
        return not self.holds(figure) and self.holds(replace(figure, measure=""))

    def measures(self, figure: Figure) -> bool:
        """Whether some figure is there with the unit of that one."""
        return figure.unit in self._units

    def _note(self, value: float, measure: str = "") -> None:
        self._values.setdefault(value, set()).add(measure)

    def _has(self, value: float, measure: str = "") -> bool:
        return any(
            not measure or measure in measures or "" in measures
            for number, measures in self._values.items()
            if abs(value - number) <= 1e-9 * max(1.0, abs(value))
        )

    def contradicts(self, text: str) -> str:
        """The first amount of ``text`` in words that stands here with another number; else "".

        "nine days" is one where "eight days" or "8 days" is said, and no nine.
        """
        for match in _SPELT_UNIT.finditer(text):
            word, unit = match.group(1), match.group(2)
            value = _SPELT.get(word.casefold())
            if value and not self._has(value) and self._measured(unit):
                return f"{word} {unit}"
        return ""

    def _measured(self, unit: str) -> bool:
        stem = re.escape(unit.casefold().rstrip("s"))
        amount = rf"(?:\d|\b(?:{'|'.join(_AMOUNTS)})\b)"
        return re.search(rf"{amount}{_GAP}?{stem}s?\b", self._text.casefold()) is not None


def figures(text: str) -> Iterator[Figure]:
    """The numbers of a text that are written in digits, and codes with digits, in order.

    A minus sign directly before a number, and behind a space or nothing, belongs to it.

    The numbers of list items count nothing and are left out.
    """
    rest = _LISTED.sub(lambda match: " " * len(match.group()), text)
    parsed = list[Figure]()
    for match in _DATE.finditer(rest):
        groups = match.groupdict()
        day, month, year = (float(groups[k] or groups[f"{k}2"]) for k in ("d", "m", "y"))
        if 1 <= month <= 12 and 1 <= day <= 31:
            parsed.append(Figure(*match.span(), match.group(), (day, month, year), month))
    rest = blank_mentions(rest, parsed)
    codes = [Figure(*match.span(), match.group()) for match in _CODE.finditer(rest)]
    rest = blank_mentions(rest, codes)
    parsed += codes
    parts = [
        _number(rest, one.start, one.end, one.value, one.numbers) for one in written_fractions(rest)
    ]
    parts = [replace(one, pair=one.apart) if len(one.apart) == 2 else one for one in parts]
    parsed += parts
    rest = blank_mentions(rest, parts)
    parsed += [
        _number(rest, *match.span(), *_value(match.group())) for match in _NUMBER.finditer(rest)
    ]
    yield from sorted(parsed, key=lambda one: one.start)


def spelt_amounts(text: str) -> Iterator[Figure]:
    """The amounts of a text in words, in front of what they count: "four months".

    They begin at three: "one" and "two" often count nothing. Numbers of several words without
    hyphens are left out.
    """
    words = list(_WORD.finditer(text))
    amounts = [None, *(_amount(match.group()) for match in words)]
    for before, value, after, match, behind in zip(
        amounts, amounts[1:], amounts[2:], words, words[1:], strict=False
    ):
        is_scale = behind.group().casefold() in _SCALE
        if value is None or value < 3 or before is not None or after is not None or is_scale:
            continue
        if behind.start() == match.end() + 1:
            measure = unit_at(text, *match.span())
            yield Figure(*match.span(), match.group(), (value,), measure=measure)


def _amount(word: str) -> float | None:
    parts = word.casefold().split("-")
    known = all(part in _SPELT and part not in _ORDINALS for part in parts)
    return sum(_SPELT[part] for part in parts) if known else None


def _number(text: str, start: int, end: int, value: float, apart: tuple[float, ...]) -> Figure:
    """The number ``text[start:end]`` with what stands around it: sign, scale and unit."""
    behind = end
    if scaled := _SCALED.match(text, end):
        value *= _SCALE.get(scaled.group(1).casefold(), 1.0)
        behind = scaled.end()
    unit = _UNIT.match(text, end)
    measured = unit.group(1).casefold().rstrip("s") if unit else ""
    measure = unit_at(text, start, behind)
    if _MINUS.search(text[max(start - 2, 0) : start]):
        start, value = start - 1, -value
    return Figure(start, end, text[start:end], (value,), None, apart, measured, measure)


def blank_mentions(text: str, mentions: Iterable[Figure | Mention]) -> str:
    """A text with spaces in the place of what was found in it, in order."""
    pieces, last = list[str](), 0
    for one in mentions:
        pieces += [text[last : one.start], " " * (one.end - one.start)]
        last = one.end
    return "".join([*pieces, text[last:]])


def _value(written: str) -> tuple[float, tuple[float, ...]]:
    """The value of a number, and those of its groups where spaces part it.

    A point or comma before exactly three digits parts thousands, unless a 0 stands before it.
    """
    groups = re.split(_GAP, written)
    apart = tuple(_value(group)[0] for group in groups) if len(groups) > 1 else ()
    digits = "".join(groups).replace("'", "").replace("’", "")
    pieces = re.split(r"[.,]", digits)
    marks = [char for char in digits if char in ".,"]
    if not marks:
        return float(digits), apart
    thousands = pieces[0] != "0" and all(len(piece) == 3 for piece in pieces[1:])
    thousands = thousands and len(set(marks)) == 1 and len(pieces[0]) <= 3 and not apart
    if thousands:
        return float("".join(pieces)), apart
    if len(marks) > 1 and set(marks) == {","}:  # 1,00,000 parts in twos
        return float("".join(pieces)), apart
    if len(marks) > 1 and len(set(marks)) == 1:  # 3.2.1: a version
        return float("".join(pieces[:1]) + "." + "".join(pieces[1:])), apart
    return float("".join(pieces[:-1]) + "." + pieces[-1]), apart


def _spelt(text: str) -> Iterator[tuple[float, str]]:
    """Values of the number words of a text with their units; "twenty-five" is 25 too."""
    for match in _WORD.finditer(text):
        parts = match.group().casefold().split("-")
        values = [_SPELT[part] for part in parts if part in _SPELT]
        measure = unit_at(text, *match.span()) if values else ""
        yield from ((value, measure) for value in values)
        if len(values) > 1 and len(values) == len(parts):
            yield sum(values), measure
    yield from ((one.value, unit_at(text, one.start, one.end)) for one in spelt_fractions(text))


def _of_clock(text: str, figure: Figure) -> bool:
    """Whether a number is the hours or the minutes of a time of day."""
    around = text[max(figure.start - 3, 0) : figure.end + 3]
    return re.search(r"\d:\d\d", around) is not None


def _code_pattern(code: str) -> re.Pattern[str]:
    runs = (re.escape(run) for run in _RUNS.findall(code))
    inside = r"[\s\u00a0./_–-]*".join(runs)
    # What stands around it has no case, and its ranges take long to compile as if they had.
    return re.compile(rf"(?<!{_ALONE})(?i:{inside})(?!{_ALONE})")
