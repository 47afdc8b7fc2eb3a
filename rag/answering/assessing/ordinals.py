"""Ordinals that name a thing: "second offence", "dritte Stunde"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_ORDINALS = {
    name: str(number)
    for names in (
        "first second third fourth fifth sixth seventh eighth ninth tenth",
        "1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th",
        "erst zweit dritt viert fünft sechst siebt acht neunt zehnt",
        "primer segund tercer cuart quint sext séptim octav noven décim",
        "premi deuxième troisième quatrième cinquième sixième septième huitième neuvième dixième",
    )
    for number, name in enumerate(names.split(), start=1)
}
_ORDINAL = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|1st|2nd|3rd|[4-9]th|10th"
    r"|(?:erst|zweit|dritt|viert|fünft|sechst|siebt|acht|neunt|zehnt)e[mnrs]?"
    r"|(?:primer|segund|tercer|cuart|quint|sext|séptim|octav|noven|décim)[oa]|tercer"
    r"|premi(?:er|ère)|(?:deux|trois|quatr|cinqu|six|sept|huit|neuv|dix)ième)"
)
_ORDINAL_WORD = re.compile(_ORDINAL, re.IGNORECASE)
_ORDINAL_NAME = re.compile(
    rf"(?<![\w-])(?<!\bper ){_ORDINAL}\s(?P<words>[^\W\d_]{{3,20}}(?:\s[^\W\d_]{{3,20}})?)",
    re.IGNORECASE,
)
_ORDINAL_RUN = re.compile(
    rf"(?<![\w-])(?<!\bper )(?P<run>{_ORDINAL}"
    r"(?:(?:\s?[-–,/]\s?|\s(?:and|or|to|und|oder|bis|y|o|a|et|ou|à)\s)"
    rf"(?:{_ORDINAL}|subsequent|later|further|any|each|every|weiter\w{{1,3}}|jede\w?)){{0,9}})"
    r"\s(?P<words>[^\W\d_]{3,21}(?:\s[^\W\d_]{3,21})?)",
    re.IGNORECASE,
)
_ENDLESS = re.compile(
    r"[-–]|\b(?:to|bis|a|à|subsequent|later|further|any|each|every|weiter|jede)", re.I
)
"""What makes a run of ordinals include more of them: "third and subsequent"."""
_FURTHER = re.compile(
    r"(?<![\w-])(?:each|every|any|all|further|additional|subsequent|following|later|other|weiter\w{1,3}"
    r"|jede\w?|folgend\w{1,2}|siguientes?|cada|otr[oa]s?|chaque|suivante?s?)\s"
    r"(?P<words>[^\W\d_]{3,21}(?:\s[^\W\d_]{3,21}){0,2})",
    re.IGNORECASE,
)
_THEREAFTER = re.compile(
    r"\b(?:after that|thereafter|afterwards|then on|danach|anschließend|después|ensuite)\b", re.I
)
_WORD = re.compile(r"[^\W\d_]+")


def ordinal_names(question: str) -> Iterator[tuple[str, str, str]]:
    """Yield what ordinals of a question name: the text, the word and the number as digits.

    Both words behind an ordinal may be named: "second alcohol offence".
    """
    for match in _ORDINAL_NAME.finditer(question):
        for piece in _WORD.finditer(question, *match.span("words")):
            text = question[match.start() : piece.end()]
            yield text, piece.group().casefold(), _number(match.group())


def ordinals_of(forms: Collection[str], text: str) -> tuple[set[str], bool]:
    """The ordinals of a thing in a text as digits, and whether the text includes further ones."""
    runs = [run["run"] for run in _ORDINAL_RUN.finditer(text) if _names(run["words"], forms)]
    includes_more = (
        any(map(_ENDLESS.search, runs))
        or any(_names(match["words"], forms) for match in _FURTHER.finditer(text))
        or _THEREAFTER.search(text) is not None
    )
    return {_number(one) for run in runs for one in _ORDINAL_WORD.findall(run)}, includes_more


def _names(words: str, forms: Collection[str]) -> bool:
    return any(word in forms for word in words.casefold().split())


def _number(ordinal: str) -> str:
    """Return the digits of an ordinal, in any of its forms."""
    word = ordinal.casefold()
    return next(number for name, number in _ORDINALS.items() if word.startswith(name))
