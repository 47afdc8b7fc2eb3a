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
_UNIT_LABEL = re.compile(r"([^\W\d_]{2,20})|[(\[]([^\W\d_]|[%€$£¥])[)\]]")
_FIGURES = re.compile(rf"\d[\d.,]*|{SPELT_NUMBER}", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(?<=[“\"'„«])[A-ZÄÖÜ][a-zäöüß]{2,20} \d+(?=[”\"'“»])")
"""A number that is part of a name: this becomes "Library 1"."""
_MEASURED_IN = re.compile(
    rf"[ -]?(?P<unit>{UNIT}|{any_of('units', 'extents', 'measures')})", re.IGNORECASE
)
_COUNTS = re.compile(rf"{any_of('counting')} ?([^\W\d_]{{2,20}})", re.IGNORECASE)


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
    """A figure that is not part of a name; ``counted`` is the noun that the question counts."""

    counted: str = ""

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
        """Whether a figure has no unit, or the noun that is counted as its unit."""
        measured = _MEASURED_IN.match(text, end)
        if measured:
            return measured["unit"].casefold().startswith(self.counted[:_STEM].casefold())
        return not unit_at(text, start, end)

    def _as_counted(self, figure: re.Match[str]) -> str:
        stem = self.counted[:_STEM].casefold()
        return figure.group() if figure[1].casefold().startswith(stem) else f" {figure[1]}"


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
    unit = base_unit(unit_of(counted[1]))
    if not unit:
        return replace(NUMBER, counted=counted[1])
    return _Measurement(f"a value in {counted[1]}", counted[1], _COUNTS, FIGURE, unit=unit)
