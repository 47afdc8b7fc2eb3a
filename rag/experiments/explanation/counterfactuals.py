"""The smallest changes of a recipe that bring a passage into the results or out of them.

They are put into words, with figures of few digits that are still true when applied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rag.experiments.explanation import breakpoints
from rag.experiments.explanation.breakpoints import ENDS, WHOLE, Breakpoint, Case, Field, position
from rag.recipe import SearchRecipe
from rag.retrieval.fusion import QDRANT_RRF
from rag.retrieval.languages import leans_on_words
from rag.retrieval.stages import measured_by_pipeline
from rag.retrieval.topic import Topic

NAMES: Mapping[Field, str] = {
    "dense_weight": "the weight on dense",
    "refuse": "the limit of off-topic questions",
    "threshold": "the threshold",
    "top_k": "top-k",
    "candidates": "candidates",
}
_SHOWN_STEPS = 1000.0
OVERSHOOT = 0.008
"""A stated change is longer than the least one by less than this share, so that one that is 1 %
shorter than the stated one falls short."""
SHORTER = 0.99
ROUNDING = 1e-9
"""How far the crossing of two scores may lie from where it was computed."""
_MOST_DIGITS = 15


def _no_change(field: Field, case: Case, is_in: bool) -> str:
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


def _present(field: Field, now: float | None) -> str:
    return "off" if now is None else _figure(field, now)


def _figure(field: Field, value: float) -> str:
    return f"{value:,.0f}" if field in WHOLE else number(value)


def number(value: float) -> str:
    """A figure for reading: at least two decimals, and no more than it has."""
    text = repr(round(float(value), _MOST_DIGITS))
    if "e" in text:
        text = f"{value:.{_MOST_DIGITS}f}".rstrip("0")
    whole, _, decimals = text.partition(".")
    return f"{whole}.{decimals:0<2}"


def _outcome(field: Field, search: SearchRecipe, is_in: bool) -> str:
    what = "the results" if field == "top_k" else f"the top {search.top_k}"
    return f"{'leaves' if is_in else 'enters'} {what}"


def _range(field: Field, value: float, crossing: Breakpoint) -> str:
    if crossing.near == crossing.far:
        return _figure(field, value) if field in WHOLE else f"exactly {_figure(field, value)}"
    up = crossing.far > crossing.near
    if crossing.far == ENDS[field][up]:
        return f"at {'least' if up else 'most'} {_figure(field, value)}"
    end = crossing.far
    if field not in WHOLE:
        # The far end with few decimals, on this side of it; as it is where that passes ``value``.
        near = (math.floor if up else math.ceil)(end * _SHOWN_STEPS) / _SHOWN_STEPS
        end = near if (near > value) == (end > value) else end
    return f"between {_figure(field, min(value, end))} and {_figure(field, max(value, end))}"


def stated(now: float, crossing: Breakpoint) -> float:
    """The value with the fewest decimals (two or more) that is barely beyond ``crossing.near``."""
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


Run = Callable[[Field, float], bool]
"""Searches with one field changed; whether the passage is then among the results."""

_EXACT: Mapping[Field, Callable[[Case], Breakpoint | None]] = {
    "dense_weight": breakpoints.by_weight,
    "refuse": breakpoints.by_refuse,
    "threshold": breakpoints.by_threshold,
    "top_k": breakpoints.by_top_k,
    "candidates": breakpoints.by_candidates,
}
_DECIMALS = 4
STEPS = 10  # values on each side of the present one
FINE = 0.005
"""How near a refuted value must come to the one found, as a share of the change."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """The smallest change of one field that turns the passage's fate around.

    ``value`` does it, as a search with it showed; None where no value does, and ``words`` then
    say why. ``bound`` is where the fate turns exactly, ``shorter`` a change 1% shorter (the
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
    fields = _fields(case.search.refuse != "off" and case.candidates.topic is not None)
    return tuple(_changed(field, case, is_in, run) for field in fields)


def _fields(refuses: bool) -> list[Field]:
    """Return the fields that can be moved.

    The field ``refuse`` is left out for a recipe that never refuses.
    """
    return [field for field in NAMES if field != "refuse" or refuses]


def asks_a_model(search: SearchRecipe) -> bool:
    """Whether a search with this recipe asks a language model or a reranker."""
    return bool(_asking(search))


def _asking(search: SearchRecipe) -> list[str]:
    """Steps that ask a model: trying a change would cost calls, and may answer differently."""
    return [row.name for row in measured_by_pipeline(search) if row.asks_model]


def unavailable(
    search: SearchRecipe, threshold: float | None, is_in: bool
) -> tuple[Counterfactual, ...]:
    """Return the placeholders for a recipe that calls a language model."""
    words = (
        f"Not available with {', '.join(_asking(search))} on, because trying a change "
        "would call a model."
    )
    return tuple(
        Counterfactual(field, not is_in, _now(field, search, threshold), words)
        for field in _fields(search.refuse != "off")
    )


def _changed(field: Field, case: Case, is_in: bool, run: Run) -> Counterfactual:
    now = _now(field, case.search, case.threshold, case.candidates.topic)
    if field == "dense_weight" and case.search.mode != "hybrid":
        words = f"The weight has no effect: the mode is {case.search.mode}."
        return Counterfactual(field, not is_in, now, words)
    if field == "threshold" and leans_on_words(case.candidates.lacking, case.search):
        words = (
            "The threshold has no effect: lexical search decides, because the embedder does "
            "not support the language."
        )
        return Counterfactual(field, not is_in, now, words)
    curved = field == "dense_weight" and case.search.fusion == QDRANT_RRF
    if curved or any(field in row.tried for row in measured_by_pipeline(case.search)):
        return _tried(field, case, is_in, run)
    return _computed(field, case, is_in, run)


def _now(
    field: Field, search: SearchRecipe, threshold: float | None, topic: Topic | None = None
) -> float | None:
    if field == "refuse":
        return None if topic is None else topic.limit(search.refuse)
    return threshold if field == "threshold" else float(getattr(search, field))


def _computed(field: Field, case: Case, is_in: bool, run: Run) -> Counterfactual:
    now = _now(field, case.search, case.threshold, case.candidates.topic)
    can_turn = case.is_in == is_in and (field == "refuse" or not case.refused)
    crossing = _EXACT[field](case) if can_turn else None
    if crossing is None:
        return Counterfactual(field, not is_in, now, _no_change(field, case, is_in))
    start = breakpoints.LEAST_THRESHOLD if now is None else now
    value = crossing.near if field in WHOLE else stated(start, crossing)
    # The change to be refuted, 1% shorter; None where nothing lies in between.
    if field in WHOLE:
        neighbour = value - 1 if value > start else value + 1
        least = None if neighbour == start else neighbour
    else:
        # At a tie the least move does it already: there is no distance to shorten.
        least = None if crossing.near == start else start + SHORTER * (value - start)
    checks = [run(field, value) != is_in]
    checks += [run(field, least) == is_in] if least is not None else []
    if not all(checks):
        words = f"No change of {NAMES[field]} could be confirmed by searching with it."
        return Counterfactual(field, not is_in, now, words, searches=len(checks))
    words = (
        f"{_outcome(field, case.search, is_in)} when {NAMES[field]} is "
        f"{_range(field, value, crossing)} (now {_present(field, now)})"
    )
    return Counterfactual(
        field, not is_in, now, words, value, crossing.near, least, searches=len(checks)
    )


def _tried(field: Field, case: Case, is_in: bool, run: Run) -> Counterfactual:
    now = _now(field, case.search, case.threshold, case.candidates.topic)
    start = breakpoints.LEAST_THRESHOLD if now is None else now
    trials = Trials(lambda value: run(field, value), is_in)
    turned = by_trial(field, start, trials)
    if turned is None:
        words = f"No change of {NAMES[field]} was found in {trials.count} searches."
        return Counterfactual(field, not is_in, now, words, exact=False, searches=trials.count)
    value, least = turned
    value = int(value) if field in WHOLE else value
    words = (  # what lies beyond was not looked at
        f"{_outcome(field, case.search, is_in)} when {NAMES[field]} is {_figure(field, value)} "
        f"(now {_present(field, now)}), the nearest that {trials.count} searches found"
    )
    return Counterfactual(
        field, not is_in, now, words, value, value, least, exact=False, searches=trials.count
    )


@dataclass
class Trials:
    """Searches with changed values; ``count`` says how many there were."""

    is_in: Callable[[float], bool]
    was_in: bool
    count: int = 0

    def turns_outcome(self, value: float) -> bool:
        """Whether the passage's fate is the other one with ``value``."""
        self.count += 1
        return self.is_in(value) != self.was_in


def by_trial(field: Field, now: float, trials: Trials) -> tuple[float, float | None] | None:
    """A value that turns the fate, and one just short of it that does not (None: no such).

    The values tried lie ever farther away; between the first that does it and the one before, the
    place is halved until it is fine enough. None when no value tried does it.
    """
    whole = field in WHOLE
    for last, value in _outwards(ENDS[field], now, whole):
        if trials.turns_outcome(value):
            return _halved(now, last, value, whole, trials)
    return None


def _outwards(ends: tuple[float, float], now: float, whole: bool) -> Iterator[tuple[float, float]]:
    """Values to try, the nearer first, each with its neighbour on the way to ``now``."""
    down, up = (_way(now, end, whole) for end in ends)
    pairs = [pair for way in (down, up) for pair in zip([now, *way], way, strict=False)]
    yield from sorted(pairs, key=lambda pair: abs(pair[1] - now))


def _way(now: float, end: float, whole: bool) -> Sequence[float]:
    """Values from near ``now`` to ``end``; whole ones grow ever faster."""
    if now == end:
        return []
    if not whole:
        return [round(now + (end - now) * step / STEPS, _DECIMALS) for step in range(1, STEPS + 1)]
    span, sign = abs(end - now), 1 if end > now else -1
    steps = sorted({max(1, round(span ** (step / STEPS))) for step in range(1, STEPS + 1)})
    return [now + sign * step for step in steps]


def _halved(
    now: float, outside: float, inside: float, whole: bool, trials: Trials
) -> tuple[float, float | None]:
    """``inside`` does it, ``outside`` does not; both moved together until nearly the same."""
    least = 1.0 if whole else max(FINE * abs(inside - now), 1e-9)
    while abs(inside - outside) > least:
        middle = (inside + outside) / 2
        middle = float(round(middle)) if whole else round(middle, _DECIMALS)
        if middle in (inside, outside):
            break
        if trials.turns_outcome(middle):
            inside = middle
            least = 1.0 if whole else max(FINE * abs(inside - now), 1e-9)
        else:
            outside = middle
    return inside, None if outside == now else outside
