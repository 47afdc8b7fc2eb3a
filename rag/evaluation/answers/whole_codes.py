"""Paths, options and identifiers of an expected answer, which are right as wholes only."""

from __future__ import annotations

import re

_THOUSANDS = r"(?!\d{1,3}(?:\.\d{3})+(?![\d.]))"
_EXTENSIONS = (
    "ya?ml|json|toml|ini|conf|cfg|env|service|log|py|sh|js|ts|sql"
    "|md|txt|csv|xml|html?|pdf|docx|xlsx"
)
_WHOLE = re.compile(
    r"(?<![\w/.~-])(?:~|\.{1,2})?(?:/[\w.@+-]*\w){1,30}"
    r"|(?<![\w-])--[a-z][\w-]*\w"
    r"|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![^\W_])[^\W_]+(?:_[^\W_]+)+"
    rf"|(?<![\w.-])[\w-]+\.(?:{_EXTENSIONS})\b"
    rf"|(?<![\w.]){_THOUSANDS}\d+(?:\.\d+){{2,}}",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![\w.])\d+(?:\.\d+)+")
_ASKED_FOR_VERSION = re.compile(r"\b(?:version|release)s?\b", re.IGNORECASE)


def codes(text: str, is_version: bool = False) -> list[re.Match[str]]:
    """Return the codes of a text in order; also numbers with a point if it is about versions.

    They are paths, long options, addresses of mail, names with underscores, names of files, and
    numbers with several points. 1.2 and 1.20 are one number, but two versions.
    """
    found = list(_WHOLE.finditer(text))
    taken = [match.span() for match in found]
    if is_version:
        found += [
            match
            for match in _VERSION.finditer(text)
            if not any(start <= match.start() < end for start, end in taken)
        ]
    return sorted(found, key=lambda match: match.start())


def names_version(text: str) -> bool:
    """Whether a text is about a version of something."""
    return _ASKED_FOR_VERSION.search(text) is not None


def has_code(text: str, code: str) -> bool:
    """Whether a text has a code as a whole; more parts of a path may follow."""
    before, after = r"(?<![\w-])", r"(?![\w-]|\.\w)"
    if code[0] in "/.~":
        before = r"(?<![\w.~-])"
    elif code[0].isdigit():
        before, after = r"(?<!\d)(?<!\d\.)", r"(?!\d|\.\d)"
    return re.search(f"{before}{re.escape(code)}{after}", text, re.IGNORECASE) is not None
