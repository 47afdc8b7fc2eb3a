"""Numbers whose marks part decimals or thousands: 1,200.50 and 1.200,50 are the same."""

from __future__ import annotations

import re

from rag.lexical.languages import document_language

_GAPS = " \u00a0\u202f"
NUMBER = (
    rf"[1-9]\d{{0,2}}(?:[,{_GAPS}]\d{{3}})+(?!\d)(?:\.\d++)?+(?![.,]\d)"  # 1,200.50
    rf"|[1-9]\d{{0,2}}(?:[.{_GAPS}]\d{{3}})+(?!\d)(?:,\d++)?+(?![.,]\d)"  # 1.200,50
    r"|\d+(?:[.,]\d+)?"
)
"""A regular expression for a number in digits with either mark."""
_AMOUNT = re.compile(
    r"(?<![\d.,])(?:\d+(?P<alone>[.,])\d\d?|[1-9]\d{0,2}(?P<first>[.,])\d{3}(?P<last>(?!(?P=first))[.,])\d+)"
    r"(?![\d.,]*\d)"
)
"""A number whose mark tells: at most two digits behind it, as prices have them, or both marks."""
_TIME = r"\d{1,2}\.[0-5]\d"
_NO_AMOUNT = re.compile(
    r"(?:\b(?:sections?|chapters?|tables?|figures?|version|release|ziffern?|nr|nummer|abschnitt"
    r"|kapitel|punkt|tabelle|abs|art|artikel|sección|capítulo|artículo|tabla|chapitre|tableau)\b"
    r"\.?|§)\s?\d+\.\d{1,2}(?!\d)"
    rf"|\b{_TIME}(?:\s?(?:[-–]|bis|und|to|a|à|y)\s?{_TIME})?\s?(?:uhr|hs?|horas?|heures?|ore|[ap]\.?m)\b"
    r"|^[# \t]*+\d+\.\d{1,2}[ \t]+(?=[^\W\d_])",
    re.IGNORECASE | re.MULTILINE,
)
"""A time, or the number of a section, whose point parts no decimals."""
_EITHER = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?!\d)")
"""A number whose mark parts decimals or thousands."""
_WITH_COMMA = frozenset(("de", "es", "fr", "it", "pt", "nl", "pl", "ru", "sv", "da", "fi", "tr"))
"""Languages that write most decimals with a comma."""
_SPACES = re.compile(rf"[{_GAPS}]")
_SURE = 3
"""A number with both marks tells as much as so many with one."""


def decimal_mark(text: str) -> str:
    """Return the mark that parts decimals in a document: the one most of its amounts have.

    Where no amount tells, it is that of the language; a point where all numbers are clear. In a
    language with a comma, a few points are dates and numbers of things rather than amounts.
    """
    if not _EITHER.search(text):
        return "."
    amounts = list(_AMOUNT.finditer(_NO_AMOUNT.sub(" ", text)))
    marks = "".join(_SURE * (match["last"] or "") + (match["alone"] or "") for match in amounts)
    commas, points = marks.count(","), marks.count(".")
    if commas > points:
        return ","
    if points > 2 * commas + 1:
        return "."
    if document_language(text) in _WITH_COMMA:
        return ","
    return "."


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
