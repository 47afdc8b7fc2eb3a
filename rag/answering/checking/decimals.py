"""Numbers whose marks part decimals or thousands: 1,200.50 and 1.200,50 are the same."""

from __future__ import annotations

import re

from rag.lexical.languages import document_language

_GAPS = " \u00a0\u202f"
NUMBER = (
    rf"[1-9]\d{{0,2}}(?:[,{_GAPS}]\d{{3}})+(?!\d)(?:\.\d+)?"  # 1,200.50
    rf"|[1-9]\d{{0,2}}(?:[.{_GAPS}]\d{{3}})+(?!\d)(?:,\d+)?"  # 1.200,50
    r"|\d+(?:[.,]\d+)?"
)
"""A regular expression for a number in digits with either mark."""
_AMOUNT = re.compile(
    r"(?<![\d.,])(?:\d+(?P<alone>[.,])\d\d|[1-9]\d{0,2}(?P<first>[.,])\d{3}(?P<last>(?!(?P=first))[.,])\d+)"
    r"(?![\d.,]*\d)"
)
"""A number whose mark tells: two digits behind it, as prices have them, or both marks."""
_EITHER = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?!\d)")
"""A number whose mark parts decimals or thousands."""
_WITH_COMMA = frozenset(("de", "es", "fr", "it", "pt", "nl", "pl", "ru", "sv", "da", "fi", "tr"))
"""Languages that write most decimals with a comma."""
_SPACES = re.compile(rf"[{_GAPS}]")


def decimal_mark(text: str) -> str:
    """Return the mark that parts decimals in a document: the one most of its amounts have.

    Where no amount tells, it is that of the language; a point where all numbers are clear.
    """
    marks = [match["last"] or match["alone"] for match in _AMOUNT.finditer(text)]
    commas = marks.count(",")
    if 2 * commas != len(marks):
        return "," if 2 * commas > len(marks) else "."
    if not _EITHER.search(text):
        return "."
    return "," if document_language(text) in _WITH_COMMA else "."


def plain_number(number: str, mark: str) -> str:
    """Return a number with a decimal point and without marks between thousands.

    Where a number has both marks, the last one parts decimals. A mark that comes twice parts
    thousands. ``mark`` parts decimals in all other numbers; the other mark does, too, unless three
    digits follow it.
    """
    digits = _SPACES.sub("", number)
    marks = [character for character in digits if character in ".,"]
    other = "," if mark == "." else "."
    if len(set(marks)) == 2:
        mark, other = marks[-1], marks[0]
    elif len(marks) > 1:
        other = marks[0]
    elif marks == [other] and not re.fullmatch(r"[1-9]\d{0,2}.\d{3}", digits):
        return digits.replace(other, ".")
    return digits.replace(other, "").replace(mark, ".")
