"""Dates of documents and questions: from when they apply, and what they are restricted to.

"On Sundays" is not answered by the driver of Tuesdays, and "over 8 years" not by a row for 12 weeks
to 8 years.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import groupby, pairwise
from math import inf, nextafter

from rag.answering.asked_values import DATE, DAY, asked_value
from rag.answering.languages import alternatives, any_of, listed, numbered, pattern
from rag.answering.words import base_unit, unit_of

HEAD = 3000
"""Characters at the beginning of a document in which it says so."""
FRONT = 400
"""Characters in which a document speaks of itself, before it goes on to its matters."""
REACH = 16
"""Characters between such words and their date."""
REACH_BACK = 60
"""Characters before such words in which a negation belongs to them."""
LONGEST_DATE = 24
MONTH_NUMBERS = numbered("months")
SHORT_MONTHS = {**{name[:3]: number for name, number in MONTH_NUMBERS.items()}, **MONTH_NUMBERS}
"""Whole names of months and their first three letters, by number."""
_NAME = alternatives("months")
_YEAR = r"(?:19|20)\d\d"
ORDINAL = rf"(?:{alternatives('ordinal_endings')})"
OF = rf"(?:(?:{alternatives('of_month')})\s)?"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?P<year>{_YEAR})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?\b",
        rf"(?P<year>{_YEAR})年(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})日)?",
        rf"\b(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?(?P<year>{_YEAR})\b",
        rf"\b(?P<day>\d{{1,2}})(?:\.|{ORDINAL})?\s{OF}(?P<name>{_NAME}),?\s{OF}(?P<year>{_YEAR})\b",
        rf"\b(?P<name>{_NAME})\s(?P<day>\d{{1,2}}){ORDINAL}?,?\s(?P<year>{_YEAR})\b",
        rf"\b(?P<name>{_NAME}),?\s{OF}(?P<year>{_YEAR})\b",
        rf"\b\d{{1,2}}/\d{{1,2}}/(?P<year>{_YEAR})\b",
        rf"\b(?P<year>{_YEAR})\b",
    )
)
_SINCE = rf"(?: {any_of('since')})?"
_APPLIES = re.compile(
    rf"{any_of('applies')}{_SINCE}|{any_of('applies_from')}(?=\d{{4}})", re.IGNORECASE
)
_ENDS = pattern("ends")
"""Before a date at which something ends, or of something else."""
_NOT = pattern("denies")
_ENDED = pattern("ended")
"""Behind a date from which a document no longer applies."""
_CLAUSE_END = re.compile(r"[.;:,!?。；，\n]")
_MADE = pattern("made")


def valid_from(text: str) -> str:
    """The date at the head of a document, as ``2026``, ``2026-03`` or ``2026-03-31``; "" for none.

    A date from which the document applies counts before the one in its title, and that before one
    on which it was made. Another date that follows none of the words for these does not count: it
    can be the date of another document.
    """
    return _valid_from(text[:HEAD])


@lru_cache(maxsize=1024)
def _valid_from(head: str) -> str:
    return _stated(head, _APPLIES) or _in_title(head) or _stated(head, _MADE)


def applies_from(text: str) -> str:
    """The date from which a document says at once that it applies; "" for none."""
    return _stated(text[:FRONT], _APPLIES)


@lru_cache(maxsize=256)
def date_in(text: str) -> tuple[str, int, int]:
    """The first date of a question as ``2026``, ``2026-03`` or ``2026-03-31``, its start and end.

    ("", 0, 0) for none.
    """
    return next(dates_in(text), ("", 0, 0))


def dates_in(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the dates of a question as ``date_in`` returns the first of them."""
    matches = (match for pattern in _DATES for match in pattern.finditer(text))
    before = 0
    for match in sorted(matches, key=lambda match: match.start()):
        if match.start() >= before:
            before = match.end()
            yield _iso(match.groupdict()), *match.span()


def _stated(head: str, words: re.Pattern[str]) -> str:
    for match in words.finditer(head):
        clause = _CLAUSE_END.split(head[max(match.start() - REACH_BACK, 0) : match.start()])[-1]
        day = _first_date(head[match.end() : match.end() + REACH + LONGEST_DATE])
        if day and not _NOT.search(clause):
            return day
    return ""


def _in_title(head: str) -> str:
    """The date at the end of the heading that a document begins with."""
    line = head.lstrip().partition("\n")[0].rstrip(" #*_)")
    if not line.startswith("#"):
        return ""
    ends = (match for pattern in _DATES for match in pattern.finditer(line))
    last = (match for match in ends if match.end() == len(line))
    first = min(last, key=lambda match: match.start(), default=None)
    if first is None or any(words.search(line[: first.start()]) for words in (_ENDS, _NOT)):
        return ""
    return _first_date(line[first.start() :])


def _first_date(text: str) -> str:
    line = text.partition("\n")[0]
    matches = [match for pattern in _DATES if (match := pattern.search(line))]
    if not matches:
        return ""
    # Of dates that begin at the same place, the pattern that comes first says most.
    first = min(matches, key=lambda match: match.start())
    between, parts = line[: first.start()], first.groupdict()
    if len(between) > REACH or _ENDS.search(between) or _NOT.search(between) or ". " in between:
        return ""
    if _ENDED.match(line, first.end()):
        return ""
    return _iso(parts)


def _iso(parts: Mapping[str, str | None]) -> str:
    """A date of a match; "" for one that is in no calendar."""
    month = parts.get("month") or MONTH_NUMBERS.get((parts.get("name") or "").casefold(), "")
    numbers = [parts["year"] or "", month, parts.get("day") or ""]
    known = [f"{int(number):02}" for number in numbers if number]
    try:
        date(*map(int, [*known, "1", "1"][:3]))
    except ValueError:  # 31 June
        return ""
    return "-".join(known)


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
YES_OR_NO = re.compile(rf"\W*{any_of('limits.yes_or_no')}", re.IGNORECASE)
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
    if YES_OR_NO.match(question):
        return []
    values = [one for one in _values(question) if one.kind]
    if asked_value(question) in (DAY, DATE):
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
