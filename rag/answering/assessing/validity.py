"""The date from which a document says that it applies, such as "Valid from 1 March 2026"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date
from functools import lru_cache

HEAD = 3000
"""Characters at the beginning of a document in which it says so."""
FRONT = 400
"""Characters in which a document speaks of itself, before it goes on to its matters."""
REACH = 16
"""Characters between such words and their date."""
REACH_BACK = 60
"""Characters before such words in which a negation belongs to them."""
LONGEST_DATE = 24
_MONTHS = (
    ("january", "januar", "jänner", "janvier", "enero", "января", "январь"),
    ("february", "februar", "février", "febrero", "февраля", "февраль"),
    ("march", "märz", "mars", "marzo", "марта", "март"),
    ("april", "avril", "abril", "апреля", "апрель"),
    ("may", "mai", "mayo", "мая", "май"),
    ("june", "juni", "juin", "junio", "июня", "июнь"),
    ("july", "juli", "juillet", "julio", "июля", "июль"),
    ("august", "août", "agosto", "августа", "август"),
    ("september", "septembre", "septiembre", "сентября", "сентябрь"),
    ("october", "oktober", "octobre", "octubre", "октября", "октябрь"),
    ("november", "novembre", "noviembre", "ноября", "ноябрь"),
    ("december", "dezember", "décembre", "diciembre", "декабря", "декабрь"),
)
MONTH_NUMBERS = {name: number for number, names in enumerate(_MONTHS, 1) for name in names}
_NAME = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
_DATES = (
    re.compile(
        rf"\b(?P<year>{_YEAR})-(?P<month>0[1-9]|1[0-2])(?:-(?P<day>[0-3]\d))?\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<year>{_YEAR})年(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})日)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})\.\s?(?P<month>\d{{1,2}})\.\s?(?P<year>{_YEAR})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<day>\d{{1,2}})(?:\.|st|nd|rd|th|er)?\s(?:of\s|de\s)?(?P<name>{_NAME}),?\s(?:de\s)?(?P<year>{_YEAR})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<name>{_NAME})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<year>{_YEAR})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<name>{_NAME}),?\s(?:de\s)?(?P<year>{_YEAR})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b\d{{1,2}}/\d{{1,2}}/(?P<year>{_YEAR})\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?P<year>{_YEAR})\b",
        re.IGNORECASE,
    ),
)
_APPLIES = re.compile(
    r"\b(?:valid|effective|applicable|applies|in force|in effect|takes effect)"
    r"(?: as of| as from| from| since| date)?\b"
    r"|\b(?:gültig|gilt|wirksam|in kraft)(?: seit| ab| vom)?\b"
    r"|\b(?:en vigueur|valable|applicable)(?: depuis| à partir| à compter| dès)?\b"
    r"|\b(?:vigente|válid[oa]|en vigor)(?: desde| a partir)?\b"
    r"|\b(?:действует|вступает в силу|действительн[аоы]?)(?: с)?\b"
    r"|生效日期|自(?=\d{4}年)",
    re.IGNORECASE,
)
_ENDS = re.compile(
    r"\b(?:until|till|to|through|after|for|replaces|bis|nach|für|jusqu|après|pour|hasta|después"
    r"|para|до|после|для)\b|至",
    re.IGNORECASE,
)
"""Before a date at which something ends, or of something else."""
_NOT = re.compile(
    r"\b(?:not|no longer|never|ceas\w+|nicht|kein\w*|nie|(?:n['’]|ne\s)\w+\s(?:plus|pas)"
    r"|cess\w+|ya no|no (?:es|est\w+|será)|deja\w*|dejó|не|утрат\w+)\b|n['’]t\b",
    re.IGNORECASE,
)
_ENDED = re.compile(r"[起即]?(?:废止|失效|停止)")
"""Behind a date from which a document no longer applies."""
_CLAUSE_END = re.compile(r"[.;:,!?。；，\n]")
_MADE = re.compile(
    r"\b(?:as of|last updated|updated|last revised|revised|revision|version|edition|issued|dated)\b"
    r"|\b(?:stand(?=:|\s\d)|fassung|ausgabe)\b|\b(?:version|mise? à jour|édition)\b"
    r"|\b(?:actualizad[oa]|versión|edición)\b|\b(?:редакция|версия|обновлено)\b|版本|更新",
    re.IGNORECASE,
)


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
