"""Figures, ages and measurements."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from rag.answering.asked_values.kind import ValueKind, is_list_like
from rag.answering.asked_values.patterns import (
    ANY_NUMBER,
    ORDINAL_ENDING,
    SOME_WORDS,
    SPELT_NUMBER,
    UNIT,
    WHAT_IS,
    ending,
)
from rag.answering.asked_values.units import base_unit, unit_at, unit_of
from rag.answering.languages import any_of, listed
from rag.answering.words import FIGURE

MEASURED = re.compile(
    rf"24/7\b|[\d.,:/]{{0,12}}(?:(?:{ORDINAL_ENDING})\b|[\s-]{{0,3}}(?:{UNIT}))", re.IGNORECASE
)
"""A figure that measures or counts: "30 days", "17-year-old", "60 euros", "24th"."""
_IN_YEAR = (
    rf"(?:{any_of('in_year', 'months')}\s(?:19|20)\d\d\b"
    rf"|\b(?:19|20)\d\d(?=\s{any_of('yearly_things')}))"
)
_NO_COUNT = re.compile(
    rf"(?:{_IN_YEAR}|{any_of('none')}(?= {any_of('not_counted')}))[ -]?([^\W\d_]{{0,20}})",
    re.IGNORECASE,
)
_MARK = re.compile(r"\(\d{1,3}\)|(?:^|(?<=\n))[ \t]*\d{1,3}[.)][ \t]")
_STEM = 4
"""Letters at the beginning of a word that its forms have in common."""
_SHORTEST_NOUN = 3
"""Letters; "h" and "km" are no end of a compound."""
_UNIT_LABEL = re.compile(r"([^\W\d_]{2,20})|[(\[]([^\W\d_]|[%€$£¥])[)\]]")
_FIGURES = re.compile(rf"\d[\d.,]*|{SPELT_NUMBER}", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(?<=[“\"'„«])[A-ZÄÖÜ][a-zäöüß]{2,20} \d+(?=[”\"'“»])")
"""A number that is part of a name: this becomes "Library 1"."""
_MEASURED_IN = re.compile(
    rf"[ -]?(?P<unit>{UNIT}|{any_of('units', 'extents', 'measures')})", re.IGNORECASE
)
_COUNTS = re.compile(
    rf"{any_of('counting')} ?(?P<noun>[^\W\d_]{{2,20}})(?P<more>(?: [^\W\d_]{{2,20}}){{0,2}})",
    re.IGNORECASE,
)
"""A noun and what may go on with it: "vacation days". The last word of it may be the unit."""


@dataclass(frozen=True, slots=True)
class _Measurement(ValueKind):
    """A figure in a ``unit`` that the question names, or in one that is a power of ten of it."""

    unit: str = ""

    def is_in(self, text: str) -> bool:
        """Whether a text has such a figure, or a figure and the unit elsewhere, as in a label."""
        figures = [*_FIGURES.finditer(text)]
        units = {unit_at(text, *match.span()) for match in figures}
        if figures:
            labels = (one[1] or one[2] for one in _UNIT_LABEL.finditer(text))
            units.update(map(unit_of, labels))
        return self.unit in map(base_unit, units)


@dataclass(frozen=True, slots=True)
class _Number(ValueKind):
    """A figure that is not part of a name; ``counted`` are the words that the question counts."""

    counted: tuple[str, ...] = ()

    def is_in(self, text: str) -> bool:
        """Whether a text has a figure that counts or measures.

        A year, "no questions", "50 feet" and the mark of an item count nothing else.
        """
        kept = text if is_list_like(text) else _IDENTIFIER.sub(" ", text)
        if not self.counted:
            return self.value.search(kept) is not None
        kept = _NO_COUNT.sub(self._as_counted, _MARK.sub(" ", kept))
        if any(self._counts(kept, *one.span()) for one in _FIGURES.finditer(kept)):
            return True
        return self.value.search(_FIGURES.sub(" ", kept)) is not None

    def _counts(self, text: str, start: int, end: int) -> bool:
        """Whether a figure has no unit, or one that is counted: 27 days are vacation days."""
        measured = _MEASURED_IN.match(text, end)
        return self._is_counted(measured["unit"]) if measured else not unit_at(text, start, end)

    def _as_counted(self, figure: re.Match[str]) -> str:
        return figure.group() if self._is_counted(figure[1]) else f" {figure[1]}"

    def _is_counted(self, noun: str) -> bool:
        stem = noun.casefold()[:_STEM]
        ends = (word.startswith(stem) or word.endswith(stem) for word in self.counted)
        return len(stem) >= _SHORTEST_NOUN and any(ends)


NUMBER = _Number(
    "a number",
    " ".join(listed("number.words")),
    re.compile(
        rf"{any_of('number.asks')}"
        rf"|{WHAT_IS} {SOME_WORDS}{any_of('number.nouns')}{ending('asked_behind')}",
        re.IGNORECASE,
    ),
    re.compile(rf"{ANY_NUMBER}|{any_of('free', 'number.values')}", re.IGNORECASE),
)


def measurement(question: str) -> ValueKind | None:
    """The kind of a figure of what a question counts: "how many watts"; None for others."""
    counted = _COUNTS.search(question)
    if not counted:
        return None
    noun = counted["noun"]
    unit = base_unit(unit_of(noun))
    if not unit:
        return replace(NUMBER, counted=(noun.casefold(), *counted["more"].casefold().split()))
    return _Measurement(f"a value in {noun}", noun, _COUNTS, FIGURE, unit=unit)
