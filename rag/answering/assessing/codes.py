"""Codes in texts, such as CV-115, those that are written alike, and identifiers of software."""

from __future__ import annotations

import re
from collections.abc import Collection, Set
from difflib import SequenceMatcher

_CODE = re.compile(r"\b[A-Z]+[-./]?\d[\w./-]*\w|\b[A-Z]+\d\b")
_IDENTIFIER = re.compile(
    r"(?<![\w-])--[a-z][\w-]{2,60}"  # --quota
    r"|(?<![\w/-])(?<!und )(?<!oder )(?<!bzw\. )(?<!sowie )(?<!wie )(?<!, )(?<!& )(?<! y )"
    r"-[a-z][\w-]{2,60}"  # -max-clients
    r"|\b(?:[a-z\d]+_)+[a-z\d]+\b|\b(?:[A-Z\d]+_)+[A-Z\d]+\b"  # max_clients, MAX_CLIENTS
    r"|\b[a-z]{2,30}(?:[A-Z][a-z\d]+){1,8}[A-Z]{0,4}\b"  # maxClients
)
ALIKE = 0.6
"""The least likeness (Ratcliff and Obershelp) of a code that is named as the nearest."""


def codes_in(text: str) -> set[str]:
    """The codes of a text, in capitals."""
    return set(_CODE.findall(text.upper()))


def identifiers(text: str) -> list[str]:
    """The options and settings of software that a text names, as it writes them.

    "Arbeitsbeginn und -ende" has none.
    """
    return _IDENTIFIER.findall(text)


def codes_at_hand(codes: Set[str], there: Set[str]) -> set[str]:
    """Codes of a question; for one that no passage has the code there that is most like it.

    The reader sees at once whether it was just mistyped.
    """
    return {code if code in there else nearest_code(code, there) or code for code in codes}


def nearest_code(code: str, codes: Collection[str]) -> str:
    """The code of some that is most like a code; "" where none is much like it."""
    likeness = {other: SequenceMatcher(None, code, other).ratio() for other in codes}
    best = max(sorted(likeness), key=lambda other: likeness[other], default="")
    return best if likeness.get(best, 0.0) >= ALIKE else ""
