"""Changes found by searching again and again: for steps that candidate arrays do not tell about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rag.explanation.breakpoints import ENDS, WHOLE, Field

_DECIMALS = 4
STEPS = 10  # values on each side of the present one
FINE = 0.005
"""How near a refuted value must come to the one found, as a share of the change."""


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
        return [_short(now + (end - now) * step / STEPS) for step in range(1, STEPS + 1)]
    span, sign = abs(end - now), 1 if end > now else -1
    steps = sorted({max(1, round(span ** (step / STEPS))) for step in range(1, STEPS + 1)})
    return [now + sign * step for step in steps]


def _short(value: float) -> float:
    return round(value, _DECIMALS)


def _halved(
    now: float, outside: float, inside: float, whole: bool, trials: Trials
) -> tuple[float, float | None]:
    """``inside`` does it, ``outside`` does not; both moved together until nearly the same."""
    least = 1.0 if whole else max(FINE * abs(inside - now), 1e-9)
    while abs(inside - outside) > least:
        middle = (inside + outside) / 2
        middle = float(round(middle)) if whole else _short(middle)
        if middle in (inside, outside):
            break
        if trials.turns_outcome(middle):
            inside = middle
            least = 1.0 if whole else max(FINE * abs(inside - now), 1e-9)
        else:
            outside = middle
    return inside, None if outside == now else outside
