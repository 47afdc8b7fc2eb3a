"""Durations, days and times of the day."""

from __future__ import annotations

import re

from rag.answering.asked_values.kind import ValueKind, is_list_like
from rag.answering.asked_values.patterns import (
    ANY_NUMBER,
    LENGTH_UNITS,
    SPELT_NUMBER,
    TIME,
    TIME_UNITS,
    WHICH,
    ending,
)
from rag.answering.languages import any_of, listed, pattern

_LASTING = (
    rf"(?:{any_of(*TIME_UNITS, ends=True)}|{any_of(*LENGTH_UNITS, 'extents')}"
    r"|(?<![^\W\d_])(?:h|km|m|cm|mm)\b)"
)


class _Duration(ValueKind):
    """A time, or a length: "how long" asks for either. In running text a figure needs its unit."""

    def is_in(self, text: str) -> bool:
        """Whether a text says how long something is."""
        if self.value.search(text):
            return True
        return is_list_like(text) and any(map(str.isnumeric, text))


DURATION = _Duration(
    "a duration",
    " ".join(listed("duration.words")),
    pattern("duration.asks"),
    re.compile(
        rf"{ANY_NUMBER}[^.;!?\n]{{0,25}}?(?<!['’]){_LASTING}"
        rf"|[\[(]{_LASTING}[\])][^.;!?\n]{{0,30}}?{ANY_NUMBER}"
        rf"|{TIME}|(?:19|20)\d\d ?[-–] ?(?:19|20)?\d\d|{any_of('duration.within')} {_LASTING}"
        rf"|(?!{any_of('duration.no_values')}){any_of('duration.values')}",
        re.IGNORECASE,
    ),
)
DATE = ValueKind(
    "a date or time",
    " ".join(listed("date.words")),
    re.compile(
        rf"\A\W{{0,3}}{any_of('date.begins')}|{any_of('date.asks')}"
        rf"|{WHICH} {any_of('date.nouns')}{ending('date.behind')}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\d|{any_of('weekdays', 'months', *TIME_UNITS[3:], 'date.values')}|{SPELT_NUMBER}",
        re.IGNORECASE,
    ),
)
