"""Figures as they are stated: few digits, and still true when they are applied."""

from __future__ import annotations

import math

from rag.explanation.breakpoints import Breakpoint

OVERSHOOT = 0.008
"""A stated change is longer than the least one by less than this share, so that one that is 1 %
shorter than the stated one falls short."""
SHORTER = 0.99
ROUNDING = 1e-9
"""How far the crossing of two scores may lie from where it was computed."""
_MOST_DIGITS = 15


def stated(now: float, crossing: Breakpoint) -> float:
    """The value with the fewest decimals (two or more) that is barely beyond ``flip.near``."""
    if crossing.near == crossing.far:
        return crossing.near
    room = abs(crossing.far - crossing.near)
    slack = min(room, OVERSHOOT * abs(crossing.near - now)) or room
    up = crossing.far > crossing.near
    sure = min(ROUNDING, slack / 4)
    for digits in range(2, _MOST_DIGITS):
        scale = 10.0**digits
        near = (crossing.near + (sure if up else -sure)) * scale
        value = (math.floor(near) + 1 if up else math.ceil(near) - 1) / scale
        if sure < abs(value - crossing.near) < slack:
            return value
    return crossing.near + (slack if up else -slack) / 2


def shorter(now: float, value: float) -> float:
    """A change in the same direction, 1 % shorter."""
    return now + SHORTER * (value - now)


def number(value: float) -> str:
    """A figure for reading: at least two decimals, and no more than it has."""
    text = repr(round(float(value), _MOST_DIGITS))
    if "e" in text:
        text = f"{value:.{_MOST_DIGITS}f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals:0<2}"
