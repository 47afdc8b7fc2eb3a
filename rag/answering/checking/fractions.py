"""Fractions of a text by value: 3/4, ¾, 1 1/2, three quarters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from rag.answering.languages import alternatives, listed, named, numbered

_GAP = r"[ \u00a0\u2009\u202f]"
_SIGN = "[¼-¾⅐-⅞]"
_WRITTEN = re.compile(
    rf"(?<![\w/⁄.,])(?:(?:(?P<before>\d{{1,3}}){_GAP}?)?(?P<sign>{_SIGN})"
    rf"|(?:(?P<whole>\d{{1,3}}){_GAP})?(?P<over>\d{{1,2}})[/⁄](?P<under>\d{{1,2}})(?![\d/⁄]|[.,]\d))"
)
_UNDER = frozenset({2, 3, 4, 5, 6, 8, 10, 12, 16, 32, 64})
"""What is divided by: 24/7 and 110/220 are two numbers each."""
_COUNTS = {**dict.fromkeys(listed("articles"), 1), **numbered("numbers")}
_PARTS = {word: int(part) for word, part in named("fractions").items()}
_SPELT = re.compile(
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
    for match in _SPELT.finditer(text):
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
