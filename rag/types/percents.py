"""Shares in percent, as people read them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from math import isfinite

_EXACT = 9
"""Decimals beyond which a sum of fractions is inexact."""


def percent(share: float, digits: int = 0) -> str:
    """Return a share as ``63%``, with halves rounded up: 5 of 8 are 62.5%.

    The formats of Python round halves to even, 62.5% down and 87.5% up.
    """
    return f"{half_up(100 * share, digits)}%"


def half_up(number: float, digits: int = 0) -> Decimal:
    """Round to decimal digits, halves away from zero. What rounds to nothing has no sign.

    Infinity and NaN stay what they are.
    """
    if not isfinite(number):
        return Decimal(float(number))
    exact = Decimal(repr(round(float(number), _EXACT)))
    rounded = exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    return rounded or abs(rounded)


def told_apart(first: float, second: float, digits: int = 3) -> tuple[str, str]:
    """Return two numbers with ``digits`` decimals, or as many more as tell them apart."""
    while first != second and digits < _EXACT and f"{first:.{digits}f}" == f"{second:.{digits}f}":
        digits += 1
    return f"{first:.{digits}f}", f"{second:.{digits}f}"
