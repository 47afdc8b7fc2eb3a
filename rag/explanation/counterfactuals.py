"""What would have to change, and by how little, for a passage to enter or leave the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rag.explanation import breakpoints, phrases
from rag.explanation.breakpoints import WHOLE, Breakpoint, Case, Field
from rag.explanation.stating import shorter, stated
from rag.explanation.trials import Trials, by_trial
from rag.recipe import SearchRecipe

Run = Callable[[Field, float], bool]
"""Searches with one field changed; whether the passage is then among the results."""

BY_MODEL = ("rewrite", "expansions", "hyde", "rerank")
"""Steps that ask a model: trying a change would cost calls, and may answer differently."""
UNSEEN: Mapping[Field, tuple[str, ...]] = {
    "dense_weight": ("feedback", "duplicates", "mmr"),
    "threshold": ("duplicates", "mmr"),
    "top_k": ("duplicates", "mmr"),
    "candidates": ("feedback", "duplicates", "mmr"),
}
"""Steps that candidate arrays do not tell about; changes are then found by trying."""

_EXACT: Mapping[Field, Callable[[Case], Breakpoint | None]] = {
    "dense_weight": breakpoints.by_weight,
    "threshold": breakpoints.by_threshold,
    "top_k": breakpoints.by_top_k,
    "candidates": breakpoints.by_candidates,
}


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The smallest change of one field that turns the passage's fate around.

    ``value`` does it, as a search with it showed; None where no value does, and ``words`` then
    say why. ``bound`` is where the fate turns exactly, ``shorter`` a change 1 % shorter (the
    neighbour, for whole numbers), which does not do it; None where there is none. ``exact`` says
    that it was computed; else it was found by ``searches`` trials, between which a smaller one may
    lie.
    """

    field: Field
    enters: bool
    now: float | None
    words: str
    value: float | None = None
    bound: float | None = None
    shorter: float | None = None
    exact: bool = True
    searches: int = 0


def counterfactuals(case: Case, is_in: bool, run: Run) -> tuple[Counterfactual, ...]:
    """One for each field, alone. ``is_in``: whether the passage is among the results now."""
    return tuple(_changed(field, case, is_in, run) for field in phrases.NAMES)


def asks_a_model(search: SearchRecipe) -> bool:
    """Whether a search with this recipe asks a language model or a reranker."""
    return any(getattr(search, name) for name in BY_MODEL)


def unavailable(
    search: SearchRecipe, threshold: float | None, is_in: bool
) -> tuple[Counterfactual, ...]:
    """What is said of a recipe that asks a model."""
    asking = ", ".join(name for name in BY_MODEL if getattr(search, name))
    words = f"Not available with {asking} on: trying a change would ask a model."
    return tuple(
        Counterfactual(field, not is_in, _now(field, search, threshold), words)
        for field in phrases.NAMES
    )


def _changed(field: Field, case: Case, is_in: bool, run: Run) -> Counterfactual:
    now = _now(field, case.search, case.threshold)
    if field == "dense_weight" and case.search.mode != "hybrid":
        words = f"The weight plays no part: the mode is {case.search.mode}."
        return Counterfactual(field, not is_in, now, words)
    if any(getattr(case.search, name) for name in UNSEEN[field]):
        return _tried(field, case, is_in, run)
    return _computed(field, case, is_in, run)


def _now(field: Field, search: SearchRecipe, threshold: float | None) -> float | None:
    return threshold if field == "threshold" else float(getattr(search, field))


def _computed(field: Field, case: Case, is_in: bool, run: Run) -> Counterfactual:
    now = _now(field, case.search, case.threshold)
    crossing = _EXACT[field](case) if case.is_in == is_in else None
    if crossing is None:
        return Counterfactual(field, not is_in, now, phrases.none(field, case, is_in))
    start = breakpoints.LEAST_THRESHOLD if now is None else now
    value = crossing.near if field in WHOLE else stated(start, crossing)
    least = _shorter(field, start, value, crossing)
    checks = [run(field, value) != is_in]
    checks += [run(field, least) == is_in] if least is not None else []
    if not all(checks):
        words = f"No change of {phrases.NAMES[field]} could be confirmed by searching with it."
        return Counterfactual(field, not is_in, now, words, searches=len(checks))
    return Counterfactual(
        field,
        not is_in,
        now,
        phrases.change(field, case.search, is_in, now, value, crossing),
        value,
        crossing.near,
        least,
        searches=len(checks),
    )


def _shorter(field: Field, now: float, value: float, crossing: Breakpoint) -> float | None:
    """The change to be refuted; None where nothing lies in between."""
    if field in WHOLE:
        least = value - 1 if value > now else value + 1
        return None if least == now else least
    # At a tie the least move does it already: there is no distance to shorten.
    return None if crossing.near == now else shorter(now, value)


def _tried(field: Field, case: Case, is_in: bool, run: Run) -> Counterfactual:
    now = _now(field, case.search, case.threshold)
    start = breakpoints.LEAST_THRESHOLD if now is None else now
    trials = Trials(lambda value: run(field, value), is_in)
    found = by_trial(field, start, trials)
    if found is None:
        words = f"No change of {phrases.NAMES[field]} was found in {trials.count} searches."
        return Counterfactual(field, not is_in, now, words, exact=False, searches=trials.count)
    value, least = found
    value = int(value) if field in WHOLE else value
    words = phrases.tried(field, case.search, is_in, now, value, trials.count)
    return Counterfactual(
        field, not is_in, now, words, value, value, least, exact=False, searches=trials.count
    )
