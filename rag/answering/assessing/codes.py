"""Codes in texts, such as CV-115, and those that are written alike."""

from __future__ import annotations

import re
from collections.abc import Collection
from difflib import SequenceMatcher

_CODE = re.compile(r"\b[A-Z]+[-./]?\d[\w./-]*\w|\b[A-Z]+\d\b")
ALIKE = 0.6
"""The least likeness (Ratcliff and Obershelp) of a code that is named as the nearest."""


def codes_in(text: str) -> set[str]:
    """The codes of a text, in capitals."""
    return set(_CODE.findall(text.upper()))


def nearest_code(code: str, codes: Collection[str]) -> str:
    """The code of some that is most like a code; "" where none is much like it."""
    likeness = {other: SequenceMatcher(None, code, other).ratio() for other in codes}
    best = max(sorted(likeness), key=lambda other: likeness[other], default="")
    return best if likeness.get(best, 0.0) >= ALIKE else ""
