"""One-sentence summaries of the curves of the tuning page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from rag import UNCHANGED, Comparison, percent, signed

_KEPT = 0.5  # of the answerable questions still get passages
_WANTED_REFUSALS = 0.9
_POINT = 0.01
ANSWERED, REFUSED = "Passages returned, answerable", "Rightly refused"


def threshold_takeaway(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], now: float | None
) -> str:
    """Summarize the cost of refusing nearly all questions that should be refused.

    The cost is the threshold and the share of answerable questions that still get passages. Without
    these two lines, summarize up to which threshold recall stays within a point of its best.
    """
    answered, refused = lines.get(ANSWERED), lines.get(REFUSED)
    if answered is None or refused is None:
        recall = next(row for label, row in lines.items() if label.startswith("Recall"))
        least = max(recall) - 0.01
        last = max(value for value, height in zip(x, recall, strict=True) if height >= least)
        return f"Recall stays within a point of its best up to {last:.2f}{_now(now)}."
    aim = min(_WANTED_REFUSALS, max(refused))
    at = next(place for place, share in enumerate(refused) if share >= aim)
    if answered[at] < _KEPT:
        return _nearest(x, answered, refused, now)
    sentence = (
        f"At {x[at]:.2f}, {percent(refused[at])} of the questions without an answer are refused "
        f"by the search, and it returns passages for {percent(answered[at])} of the answerable ones"
    )
    return f"{sentence}{_now(now)}."


def _nearest(
    x: Sequence[float], answered: Sequence[float], refused: Sequence[float], now: float | None
) -> str:
    """Name the threshold that tells questions apart best, unless it is no better than now."""
    told_apart = [kept + gone for kept, gone in zip(answered, refused, strict=True)]
    at = max(range(len(x)), key=told_apart.__getitem__)
    present = -1.0 if now is None else now
    before = max((place for place, value in enumerate(x) if value <= present), default=0)
    sentence = "No threshold tells most questions apart"
    if told_apart[at] <= told_apart[before]:
        return f"{sentence}, and none does better{_now(now)}."
    return (
        f"{sentence}. The nearest is {x[at]:.2f}: the search returns passages for "
        f"{percent(answered[at])} of the answerable ones and refuses {percent(refused[at])} of "
        f"those without an answer{_now(now)}."
    )


def _now(now: float | None) -> str:
    return "; now it is off" if now is None else f"; now it is {now:.2f}"


def peak_takeaway(
    name: str, at: float, now: float, best: Comparison | None, values: Sequence[float]
) -> str:
    """Summarize the peak of nDCG@10 in ``values``, and whether it exceeds the noise."""
    if max(values) - min(values) < UNCHANGED:
        return f"nDCG@10 is the same at each {name}."
    if best is None or best.difference < UNCHANGED:
        return f"nDCG@10 is at its best where it is, at {name} {now:.2f}."
    sentence = f"nDCG@10 peaks at {name} {at:.2f}: {signed(best.difference)}"
    sure = f"{sentence} {_picked(best)}; {best.certainty} against the present {now:.2f}."
    if best.verdict != "better":
        return sure
    return f"{sure} *Search all* measures it on questions that did not pick it."


def _picked(best: Comparison) -> str:
    """Name the questions of a figure that is the highest of several on the same questions."""
    return f"{best.basis}, which picked it"


def depth_takeaway(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], now: int, budget: int
) -> str:
    """Summarize the recall and the token cost of more passages."""
    if now > len(x):
        return (
            f"The first {len(x)} passages contain {percent(lines['Recall'][-1])} of the "
            "relevant ones."
        )
    more = min(2 * now, len(x))
    recalls, tokens = lines["Recall"], lines["tokens"]
    sentence = (
        f"The first {now} contain {percent(recalls[now - 1])} of the relevant passages in "
        f"{tokens[now - 1]:,.0f} tokens"
    )
    if more == now:
        return f"{sentence}."
    over = " That is over the context budget." if tokens[more - 1] > budget else ""
    return (
        f"{sentence}; {more} would contain {percent(recalls[more - 1])} in "
        f"{tokens[more - 1]:,.0f}.{over}"
    )


def heat_takeaway(
    weights: Sequence[float],
    thresholds: Sequence[float],
    scores: Sequence[Sequence[float]],
    now: float,
    best: Comparison,
) -> str:
    """Summarize the best cell of the heat map, and whether it exceeds the noise."""
    table = np.array(scores)
    row, column = (int(place) for place in np.unravel_index(int(table.argmax()), table.shape))
    gain = float(table[row, column]) - now
    at = f"weight {weights[row]:.2f} and threshold {thresholds[column]:.2f}"
    if gain < UNCHANGED:
        return "No place on the map is better than the present one."
    return (
        f"The highest place is {at}: {signed(gain)} against the present one {_picked(best)}; "
        f"{best.certainty}."
    )


_LESS = {
    "tokens": (0.98, "cheaper", "for {} less context"),
    "ms": (0.9, "clearly faster", "in {} less time"),
}
"""By unit: the share of the present cost that counts as less, and the words for it."""


def front_takeaway(
    now: tuple[float, float],
    best: tuple[float, float] | None,
    what: str,
    change: Comparison | None,
    unit: str,
) -> str:
    """Compare the present recipe with the best one that costs less; both are (cost, quality)."""
    share, better, less = _LESS[unit]
    if best is None or change is None or best[0] >= now[0] * share:  # 0 if nothing is shown
        return f"No recipe here is as good as the present one and {better}."
    cost = f"{best[0]:,.0f} {unit} instead of {now[0]:,.0f}"
    gain = f"{less.format(percent(1 - best[0] / now[0]))}: {what} ({cost}"
    return _no_worse(gain, now[1], best[1], change)


def _no_worse(gain: str, now: float, best: float, change: Comparison) -> str:
    """Only what cannot lose more than a point of nDCG is as good; ``gain`` has an open bracket.

    The cards also count passages after top-k, so their nDCG is another one.
    """
    measured, before = "nDCG@10 of the returned passages", f"{now:.3f}"
    after = f"{best:.3f}"
    same = after == before
    if change.interval_95.low >= -_POINT:
        values = f"{after} as now" if same else f"{after} instead of {before}"
        return f"As good {gain}, {measured} {values}, {_picked(change)})."
    quality = (
        f"The same {measured} ({after})"
        if same
        else f"No lower {measured} ({after} instead of {before})"
    )
    return (
        f"{quality} {change.basis} {gain}). The questions picked it, and are too few to exclude a "
        f"loss of {-change.interval_95.low:.3f} on others."
    )
