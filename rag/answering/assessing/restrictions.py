"""Days, months and ranges that a question is restricted to, and texts about others.

"On Sundays" is not answered by the driver of Tuesdays, and "over 8 years" not by a row for 12 weeks
to 8 years.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from math import inf, nextafter

from rag.answering.asked_values import DATE, asked_value
from rag.answering.languages import any_of, listed, numbered
from rag.answering.units import base_unit, unit_of

_GROUPED = r"\d{1,3}(?:[.,]\d{3})+(?!\d)"
_SHORT = "|".join(word.capitalize() for word in listed("short_weekdays"))
_VALUE = re.compile(
    rf"(?P<weekday>(?i:{any_of('weekdays')}))|(?P<short>\b(?:{_SHORT})\b)|(?P<month>(?i:{any_of('months')}))"
    rf"|(?P<daily>(?i:{any_of('limits.daily')}))"
    r"|(?<![\d.,:/])(?<!\d{4}-)(?<!\d{4}-\d\d-)"
    rf"(?:(?P<clock>\d{{1,2}}[:.]\d\d(?!\d|\.\d))|(?P<grouped>{_GROUPED})"
    rf"|(?P<number>\d+(?:[.,]\d+)?(?![\d:/]))|(?P<spelt>(?i:{any_of('numbers')})))"
    rf"(?:[ \u00a0-]?(?!(?i:{any_of('limits.ranges', 'and')}))(?P<unit>[^\W\d_]+|[%€$£]))?"
)
_SHORT_RANGE = re.compile(rf"\b(?:{_SHORT})\.?\s?(?:[-–—/,:]\s?)?(?:(?:{_SHORT})\b|\d)")
"""What tells that "So" and "Sat" are days."""
_VERBS = frozenset(listed("months_and_verbs"))
_BEFORE_MONTH = re.compile(
    rf"(?:\d|{any_of('time_prepositions', 'since', 'ends')}|[-–—])\W*\Z", re.IGNORECASE
)
_TO = re.compile(rf"[-–—]|{any_of('limits.ranges')}", re.IGNORECASE)
_AND = re.compile(any_of("and"), re.IGNORECASE)
_BETWEEN, *_BEFORE = (
    re.compile(rf"{any_of(f'limits.{name}')}\W{{1,2}}\Z", re.IGNORECASE)
    for name in ("between", "over", "from", "under", "up_to")
)
_BEHIND_FROM, _BEHIND_UP_TO, _AHEAD = (
    re.compile(rf"\s?{any_of(f'limits.{name}')}", re.IGNORECASE)
    for name in ("behind_from", "behind_up_to", "ahead")
)
"""``_AHEAD`` turns a limit round: "up to 14 days before"."""
_YES_OR_NO = re.compile(rf"\W*{any_of('limits.yes_or_no')}", re.IGNORECASE)
_REACH = 24
_DAYS = {0: (1, 7), 8: (1, 5), 9: (6, 7)}
"""Every day, weekdays and weekends, by their places in the list of weekdays."""
_LAST = {"weekday": 7, "month": 12}
_SECONDS = {
    "second": 1.0,
    "minute": 60.0,
    "hour": 3600.0,
    "day": 86400.0,
    "week": 604800.0,
    "month": 2629800.0,
    "year": 31557600.0,
}
_PREFIXES = {"kilo": 1e3, "milli": 1e-3, "centi": 1e-2, "mega": 1e6, "giga": 1e9, "tera": 1e12}


@dataclass(frozen=True, slots=True)
class _Value:
    """``text[start:end]`` is from ``low`` to ``high``; ``bounds`` says that it limits something.

    ``kind`` is "weekday", "month", "clock", or that of a unit, "" for a figure without one.
    ``factor`` is the size of the unit.
    """

    kind: str
    start: int
    end: int
    low: float
    high: float
    bounds: bool = True
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Restriction:
    """A restriction of a question by one kind of value: its ``words``, and the values."""

    words: str
    values: Sequence[_Value]

    def has(self, place: int) -> bool:
        """Whether a place of the question is in its words."""
        return any(one.start <= place < one.end for one in self.values)

    def is_met(self, *texts: str) -> bool | None:
        """Whether the first text with limits of the kind has this one; None where none has any.

        A figure that limits nothing may be the answer.
        """
        own = self.values[0]
        for text in texts:
            if others := [one for one in _values(text) if one.kind == own.kind and one.bounds]:
                pairs = ((one, other) for one in self.values for other in others)
                return any(one.low <= other.high and other.low <= one.high for one, other in pairs)
        return None


def restrictions(question: str) -> list[Restriction]:
    """The restrictions of a question; none of one for yes or no, which any day answers."""
    if _YES_OR_NO.match(question):
        return []
    values = [one for one in _values(question) if one.kind]
    if asked_value(question) is DATE:
        values = [one for one in values if one.kind != "month"]  # the answer may be in another
    groups = groupby(sorted(values, key=lambda one: one.kind), key=lambda one: one.kind)
    rows = ([*group] for _, group in groups)
    return [Restriction(question[row[0].start : row[0].end], row) for row in rows]


def _values(text: str) -> Iterator[_Value]:
    """Yield the days, months, times and figures of a text, and the ranges between two of them."""
    values = [one for match in _VALUE.finditer(text) if (one := _value(text, match))]
    ends = set[int]()
    for one, other in pairwise(values):
        to = _AND if _BETWEEN.search(text[max(one.start - _REACH, 0) : one.start]) else _TO
        if one.kind not in ("", other.kind) or not to.fullmatch(
            text[one.end : other.start].strip()
        ):
            continue
        ends |= {one.start, other.start}
        low, high = one.low if one.kind else one.low * other.factor, other.high
        spans = [(min(low, high), max(low, high))]
        if one.kind in _LAST and low > high:
            spans = [(low, _LAST[one.kind]), (1, high)]
        for low, high in spans:
            yield _Value(other.kind, one.start, other.end, low, high)
    for one in values:
        if one.start not in ends:
            yield one if one.bounds else _limited(text, one)


def _value(text: str, match: re.Match[str]) -> _Value | None:
    """Return a day, month, time or figure; None for a word that is written like one."""
    span, word = match.span(), match[0].casefold()
    if match["short"] and not _SHORT_RANGE.search(text):
        return None
    if match["weekday"] or match["short"] or match["daily"]:
        day = (numbered("weekdays") | numbered("short_weekdays")).get(word, 0)
        return _Value("weekday", *span, *_DAYS.get(day, (day, day)))
    if match["month"]:
        is_verb = word in _VERBS and not _BEFORE_MONTH.search(text[: match.start()])
        month = numbered("months")[word]
        return None if is_verb else _Value("month", *span, month, month)
    if match["clock"]:
        hours, minutes = map(int, re.split(r"[:.]", match["clock"]))
        return _Value("clock", *span, low=(at := hours * 60.0 + minutes), high=at, bounds=False)
    if match["grouped"]:
        size = float(re.sub(r"\D", "", match["grouped"]))
    elif match["spelt"]:
        size = float(numbered("numbers")[match["spelt"].casefold()])
    else:
        size = float(match["number"].replace(",", "."))
    unit = unit_of(match["unit"] or "")
    prefix = next((one for one in _PREFIXES if unit.startswith(one)), "")
    factor = _SECONDS.get(unit) or _PREFIXES.get(prefix, 1.0)
    other = (match["unit"] or "")[:4].casefold()  # "people" measures, too
    kind = "time" if unit in _SECONDS else base_unit(unit) or other
    return _Value(kind, *span, size * factor, size * factor, bounds=False, factor=factor)


def _limited(text: str, value: _Value) -> _Value:
    """Return a time or figure as the limit that the words around it make of it."""
    size, before = value.low, text[max(value.start - _REACH, 0) : value.start]
    over, from_, under, up_to = (one.search(before) is not None for one in _BEFORE)
    from_ = from_ or _BEHIND_FROM.match(text, value.end) is not None
    up_to = up_to or _BEHIND_UP_TO.match(text, value.end) is not None
    if up_to and _AHEAD.match(text, value.end):
        return replace(value, high=inf, bounds=True)
    if over or from_:
        return replace(value, low=nextafter(size, inf) if over else size, high=inf, bounds=True)
    if under or up_to:
        return replace(value, low=-inf, high=nextafter(size, -inf) if under else size, bounds=True)
    return value
