"""Paths, options and identifiers of an expected answer, which are right as wholes only."""

from __future__ import annotations

import re

from rag.answering.units import unit_at
from rag.answering.languages import any_of

_UNSPACED = r"\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Scripts that put no space between a code and the words or endings beside it."""
_TOKEN = re.compile(rf"(?:[^\W{_UNSPACED}]|[.@+~/-])+")
_ENDS = ".@+~/-"
_EXTENSIONS = (
    "ya?ml|json|toml|ini|conf|cfg|env|service|log|py|sh|js|ts|sql"
    "|md|txt|csv|xml|html?|pdf|docx|xlsx"
)
_WHOLE = re.compile(
    r"\A(?:~|\.{1,2})?/[\w.]|\A--[a-z]"
    r"|\A\w[\w.+-]*@[\w-]+\.\w"
    r"|[^\W_]_+[^\W_]"
    rf"|[\w-]\.(?:{_EXTENSIONS})(?!\w)",
    re.IGNORECASE,
)
_BEFORE_UNIT = frozenset("€$£¥%)")
"""Signs before a slash that begins no path: 5 €/month."""
_MORE = r"(?:\.\d+|[._-]?[a-z]{1,8}\d+)*"
_NUMBER = re.compile(
    r"(?<![\w.])(?:v\.?\s?)?(?!\d{1,3}(?:\.\d{3})+(?!\d|\.\d))"
    rf"(?P<code>\d+(?:\.\d+){{2}}{_MORE})",
    re.IGNORECASE,
)
_VERSION = re.compile(rf"(?<![\w.])(?P<v>v\.?\s?)?(?P<code>\d+\.\d+{_MORE})", re.IGNORECASE)
_NUMERIC = re.compile(rf"\d+\.\d+{_MORE}", re.IGNORECASE)
_VERSIONS = any_of("versions")
_VERSION_BEFORE = re.compile(rf"{_VERSIONS}\s\Z", re.IGNORECASE)
_ASKS_FOR_VERSION = re.compile(
    rf"{any_of('which')}(?:\s{any_of('is')})?(?:\s(?!{any_of('version_verbs')}\s)[\w.-]+){{0,3}}"
    rf"\s{_VERSIONS}(?!\s(?:\d|{any_of('dates')}))",
    re.IGNORECASE,
)
_ZEROS = re.compile(r"(\d+(?:\.\d+)?)\.0")


def codes(text: str, asks_for_version: bool = False) -> list[tuple[str, int, int]]:
    """Return the codes of a text in order, each with the part of the text that it takes.

    They are paths, long options, addresses of mail, names with underscores, names of files, and
    numbers with several points. Numbers with one point are codes if they are versions: those beside
    the word, or any without a unit where the question ``asks_for_version``. 1.2 and 1.20 are one
    number, but two versions.
    """
    found = list[tuple[str, int, int]]()
    for token in _TOKEN.finditer(text):
        code = token.group().rstrip(_ENDS)
        end = token.start() + len(code)
        code = code.lstrip("@+")
        start = end - len(code)
        by_unit = code.startswith("/") and text[max(start - 1, 0)] in _BEFORE_UNIT
        if _WHOLE.search(code) and not by_unit:
            found.append((code, start, end))
    for pattern in (_NUMBER, _VERSION):
        for match in pattern.finditer(text):
            free = not any(start <= match.start("code") < end for _, start, end in found)
            if free and (pattern is _NUMBER or _is_version(text, match, asks_for_version)):
                found.append((match["code"], *match.span()))
    return sorted(found, key=lambda one: one[1])


def asks_for_version(question: str) -> bool:
    """Whether a question asks for the version of something."""
    return _ASKS_FOR_VERSION.search(question) is not None


def has_code(text: str, code: str) -> bool:
    """Whether a text has a code as a whole; more parts of a path may follow."""
    word, written = rf"[^\W{_UNSPACED}]", re.escape(code)
    before, after = rf"(?<!{word})(?<!-)", rf"(?!{word}|[.@+-]+{word})"
    if code[0] in "/.~":
        before = rf"(?<!{word})(?<![.~-])"
    elif _NUMERIC.fullmatch(code):
        before, after = r"(?<!\d)(?<!\d\.)", r"(?!\d|\.\d|[._-]?[a-z]{1,8}\d)"
        if zeros := _ZEROS.fullmatch(code):
            written = rf"{re.escape(zeros[1])}(?:\.0)*"
    return re.search(f"{before}{written}{after}", text, re.IGNORECASE) is not None


def _is_version(text: str, number: re.Match[str], is_asked_for: bool) -> bool:
    """Whether a number with a point is a version, which has no unit."""
    start, end = number.span("code")
    if unit_at(text, start, end):
        return False
    beside = number["v"] or _VERSION_BEFORE.search(text, max(start - 10, 0), start)
    return is_asked_for or beside is not None
