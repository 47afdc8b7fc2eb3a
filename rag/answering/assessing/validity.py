"""The date from which a document says that it applies, such as "Valid from 1 March 2026"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache

from rag.answering.languages import alternatives, any_of, numbered, pattern

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
