"""Counterfactuals in words, and in figures of few digits that are still true when applied."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rag.experiments.explanation.breakpoints import ENDS, WHOLE, Breakpoint, Case, Field, position
from rag.recipe import SearchRecipe

NAMES: Mapping[Field, str] = {
    "dense_weight": "the weight on dense",
    "refuse": "the limit of off-topic questions",
    "threshold": "the threshold",
    "top_k": "top-k",
    "candidates": "candidates",
}
_DECIMALS = 1000.0
OVERSHOOT = 0.008
"""A stated change is longer than the least one by less than this share, so that one that is 1 %
shorter than the stated one falls short."""
SHORTER = 0.99
ROUNDING = 1e-9
"""How far the crossing of two scores may lie from where it was computed."""
_MOST_DIGITS = 15


def change(
    field: Field,
    search: SearchRecipe,
    is_in: bool,
    now: float | None,
    value: float,
    crossing: Breakpoint,
) -> str:
    """``"enters the top 5 when the weight on dense is at most 0.37 (now 0.60)"``."""
    return (
        f"{_outcome(field, search, is_in)} when {NAMES[field]} is {_range(field, value, crossing)}"
        + (f" (now {present(field, now)})")
    )


def tried(
    field: Field, search: SearchRecipe, is_in: bool, now: float | None, value: float, count: int
) -> str:
    """The same for a change that was found by trying: what lies beyond was not looked at."""
    return (
        f"{_outcome(field, search, is_in)} when {NAMES[field]} is {figure(field, value)} "
        f"(now {present(field, now)}), the nearest that {count} searches found"
    )


def none(field: Field, case: Case, is_in: bool) -> str:
    """Return the reason why no value of a field brings the passage in or out."""
    words = f"No change of {NAMES[field]} alone {'removes' if is_in else 'returns'} it"
    own = position(case.candidates, case.key)
    if case.refused and field != "refuse":
        return f"{words}: the question is off-topic."
    if is_in or field == "candidates":
        return f"{words}."
    if own is None:
        return f"{words}: it is not among the candidates."
    if field not in ("refuse", "threshold") and not case.relevant(case.candidates)[own]:
        return f"{words}: the threshold drops it."
    return f"{words}."


def present(field: Field, now: float | None) -> str:
    """The present value of a field."""
    return "off" if now is None else figure(field, now)


def figure(field: Field, value: float) -> str:
    """A value of a field."""
    return f"{value:,.0f}" if field in WHOLE else number(value)


def _outcome(field: Field, search: SearchRecipe, is_in: bool) -> str:
    what = "the results" if field == "top_k" else f"the top {search.top_k}"
    return f"{'leaves' if is_in else 'enters'} {what}"


def _range(field: Field, value: float, crossing: Breakpoint) -> str:
    if crossing.near == crossing.far:
        return figure(field, value) if field in WHOLE else f"exactly {figure(field, value)}"
    up = crossing.far > crossing.near
    if crossing.far == ENDS[field][up]:
        return f"at {'least' if up else 'most'} {figure(field, value)}"
    end = crossing.far if field in WHOLE else _inwards(value, crossing.far)
    return f"between {figure(field, min(value, end))} and {figure(field, max(value, end))}"


def _inwards(value: float, far: float) -> float:
    """The far end with few decimals, on this side of it; as it is where that passes ``value``."""
    scaled = far * _DECIMALS
    end = (math.floor(scaled) if far > value else math.ceil(scaled)) / _DECIMALS
    return end if (end > value) == (far > value) else far


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
    """A change in the same direction, 1% shorter."""
    return now + SHORTER * (value - now)


def number(value: float) -> str:
    """A figure for reading: at least two decimals, and no more than it has."""
    text = repr(round(float(value), _MOST_DIGITS))
    if "e" in text:
        text = f"{value:.{_MOST_DIGITS}f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals:0<2}"
