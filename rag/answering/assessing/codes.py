"""Codes that are written alike: CV-115 for CV-155."""

from __future__ import annotations

from collections.abc import Collection
from difflib import SequenceMatcher

ALIKE = 0.6
"""The least likeness (Ratcliff and Obershelp) of a code that is named as the nearest."""


def nearest_code(code: str, codes: Collection[str]) -> str:
    """The code of some that is most like a code; "" where none is much like it."""
    likeness = {other: SequenceMatcher(None, code, other).ratio() for other in codes}
    best = max(sorted(likeness), key=lambda other: likeness[other], default="")
    return best if likeness.get(best, 0.0) >= ALIKE else ""
