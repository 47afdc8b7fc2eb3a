"""Abbreviations that a text defines, ``long form (LF)`` or ``LF (long form)``.

A short form is matched with the words beside it from its last letter to its first: Schwartz and
Hearst, "A Simple Algorithm for Identifying Abbreviation Definitions in Biomedical Text", 2003.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

MOST_WORDS = 2
"""Words of a short form in brackets."""
SHORTEST, LONGEST = 2, 10
"""Characters of a short form."""
_LONGEST_TEXT = 160
"""Characters of a long form: ten words, and some to spare."""

_BRACKETS = re.compile(r"\(([^()]{2,160})\)")
_END = re.compile(r"[.;:!?]\s|\n\s*\n|[()\[\]|\t]")
_LAST_WORD = re.compile(r"[^\W_][\w&/.-]{1,9}$")
_FILE = "definitions.txt"
_QUOTES = "\"'“”„‘’«»*_ "


class Abbreviation(NamedTuple):
    """A ``short`` form, and the ``long`` one as the text writes it, with single spaces."""

    short: str
    long: str


class Definition(NamedTuple):
    """An abbreviation that the passage in a ``row`` of its segment defines."""

    short: str
    long: str
    row: int


def abbreviations(text: str) -> Iterator[Abbreviation]:
    """Yield the abbreviations that a text defines, in order; a repeated definition comes again."""
    if "(" not in text:
        return
    for match in _BRACKETS.finditer(text):
        before = _before(text, match.start())
        inside = _tidy(re.split(r"[,;]", match.group(1), maxsplit=1)[0])
        if _is_short_form(inside):
            long = _long_form(inside, before)
            if long:
                yield Abbreviation(inside, long)
                continue
        word = _LAST_WORD.search(before)
        if word and _is_short_form(word.group()):
            whole = _tidy(match.group(1))
            if _long_form(word.group(), whole) == whole:
                yield Abbreviation(word.group(), whole)


def _before(text: str, end: int) -> str:
    """The words before a bracket, back to the beginning of the sentence or cell."""
    part = text[max(0, end - _LONGEST_TEXT) : end]
    start = max((match.end() for match in _END.finditer(part)), default=0)
    return _tidy(part[start:])


def _tidy(text: str) -> str:
    return " ".join(text.split()).strip(_QUOTES)


def _is_short_form(text: str) -> bool:
    """Whether it may be an abbreviation: short, with a capital, and not a number."""
    return (
        SHORTEST <= len(text) <= LONGEST
        and len(text.split()) <= MOST_WORDS
        and text[0].isalnum()
        and any(sign.isupper() for sign in text[1:] or text)
    )


def _long_form(short: str, text: str) -> str:
    """The shortest end of a text that has the letters of a short form in order; "" for none.

    The first of them begins a word. Of words it has at most as many more than letters as Schwartz
    and Hearst allow, and none is the short form itself.
    """
    at = len(text)
    for place in range(len(short) - 1, -1, -1):
        sign = short[place].casefold()
        if not sign.isalnum():
            continue
        at -= 1
        while at >= 0 and (
            text[at].casefold() != sign or (place == 0 and at > 0 and text[at - 1].isalnum())
        ):
            at -= 1
        if at < 0:
            return ""
    long = text[at:]
    words, letters = long.split(), sum(sign.isalnum() for sign in short)
    few_enough = len(words) <= min(letters + 5, 2 * letters)
    is_longer = len(long) > len(short) + 1
    return long if few_enough and is_longer and short not in words else ""


def definitions_of(texts: Iterable[str]) -> tuple[Definition, ...]:
    """The abbreviations that texts define, with the number of the text; of a text, each once."""
    return tuple(
        Definition(short, long, row)
        for row, text in enumerate(texts)
        for short, long in dict.fromkeys(abbreviations(text))
    )


def save_definitions(definitions: Sequence[Definition], folder: Path) -> None:
    """Write ``definitions.txt``: their number, then one in a line."""
    lines = [f"{row}\t{short}\t{long}" for short, long, row in definitions]
    (folder / _FILE).write_bytes("\n".join([str(len(lines)), *lines]).encode())


def load_definitions(folder: Path) -> tuple[Definition, ...] | None:
    """Read what ``save_definitions`` wrote; None where an earlier version did not.

    Raises ValueError.
    """
    try:
        first, *lines = (folder / _FILE).read_bytes().decode().split("\n")
    except FileNotFoundError:
        return None
    if int(first) != len(lines):
        raise ValueError(f"{first} abbreviations and {len(lines)} lines")
    rows = (line.split("\t") for line in lines)
    return tuple(Definition(short, long, int(row)) for row, short, long in rows)
