"""Counterfactuals in words."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rag.explanation.breakpoints import ENDS, WHOLE, Breakpoint, Case, Field, position
from rag.explanation.stating import number
from rag.recipe import SearchRecipe

NAMES: Mapping[Field, str] = {
    "dense_weight": "the weight on dense",
    "threshold": "the threshold",
    "top_k": "top-k",
    "candidates": "candidates",
}
_DECIMALS = 1000.0


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
    """Why no value of a field turns the passage's fate."""
    words = f"No value of {NAMES[field]} alone brings it {'out' if is_in else 'in'}"
    own = position(case.candidates, case.key)
    if is_in or field == "candidates":
        return f"{words}."
    if own is None:
        return f"{words}: it is not among the candidates."
    if field != "threshold" and not case.relevant(case.candidates)[own]:
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
