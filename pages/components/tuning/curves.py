"""The curves of the tuning page, each with a headline: one parameter, or quality by cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.buttons import switch
from pages.components.tuning import charts
from pages.components.tuning.bench import Bench, cached
from rag import (
    UNCHANGED,
    Comparison,
    CostPoint,
    Curve,
    ScoreMap,
    against_present,
    by_time,
    by_tokens,
    cheapest,
    counted,
    metric_title,
    pareto_front,
    percent,
    present,
    search_times,
    signed,
)

_KEPT = 0.5  # of the answerable questions still get passages
_WANTED_REFUSALS = 0.9
_POINT = 0.01
ANSWERED, REFUSED = "Answerable questions with results", metric_title("correct_refusal")


def threshold_headline(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], now: float | None, best: Comparison
) -> str:
    """State recall at the present threshold, and the ``best`` of the line if a point higher.

    Before it stands what to do: something, if the best is better by more than noise.
    """
    name, recall = next(row for row in lines.items() if row[0].startswith("Recall"))
    said = "No threshold" if now is None else f"Threshold {now:.2f}"
    said = f"{said}: {name.lower()} is {best.baseline:.3f}"
    if best.difference <= _POINT:
        return f":green-badge[Fine for recall] {said}, within 0.01 of the best."
    first = last = max(range(len(x)), key=recall.__getitem__)
    while last + 1 < len(x) and recall[last + 1] == recall[first]:
        last += 1
    where = f"at {x[first]:.2f}" if last == first else f"between {x[first]:.2f} and {x[last]:.2f}"
    certainty = f"{_picked(best)}; {best.certainty}"
    said = f"{said}. The best is {best.mean:.3f} {where}, {certainty}."
    if best.verdict != "better":
        return f":gray-badge[No clear gain] {said}"
    change = "Set a" if now is None else "Raise the" if x[first] > now else "Lower the"
    return f":orange-badge[{change} threshold] {said}"


def threshold_takeaway(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], now: float | None
) -> str:
    """Summarize the cost of refusing nearly all questions that should be refused.

    The cost is the answerable questions that are refused too, and recall. If nearly all cannot be
    refused while half of the answerable questions keep their passages, it is the threshold that
    tells most of both apart. Without refusals, summarize up to which threshold recall stays within
    a point of its best.
    """
    answered, refused = lines.get(ANSWERED), lines.get(REFUSED)
    name, recall = next(row for row in lines.items() if row[0].startswith("Recall"))
    if answered is None or refused is None:
        least = max(recall) - _POINT
        last = max(value for value, height in zip(x, recall, strict=True) if height >= least)
        return f"Recall stays within 0.01 of its best up to {last:.2f}."
    before = max((place for place, value in enumerate(x) if value <= (now or 0.0)), default=0)
    aim = min(_WANTED_REFUSALS, max(refused))
    at, remark = next(place for place, share in enumerate(refused) if share >= aim), ""
    if answered[at] < _KEPT:
        told_apart = [
            kept + gone if kept >= _KEPT else 0.0
            for kept, gone in zip(answered, refused, strict=True)
        ]
        at = max(range(len(x)), key=told_apart.__getitem__)
        if told_apart[at] <= told_apart[before]:
            at, remark = before, ": none tells them apart better"
    return (
        f"At {x[at]:.2f}: {percent(refused[at])} of unanswerable and "
        f"{percent(1 - answered[at])} of answerable questions refused{remark}; "
        f"{name.lower()} {recall[at]:.3f}."
    )


def peak_takeaway(
    name: str, at: float, now: float, best: Comparison | None, values: Sequence[float]
) -> str:
    """Summarize the peak of nDCG@10 in ``values``, and whether it exceeds the noise."""
    if max(values) - min(values) < UNCHANGED:
        return f"nDCG@10 is the same at each {name}."
    if best is None or best.difference < UNCHANGED:
        return f"nDCG@10 is at its best where it is, at {name} {now:.2f}."
    sure = f"nDCG@10 peaks at {name} {at:.2f}: {_lead(best)} against the present {now:.2f}."
    if best.verdict != "better":
        return sure
    return f"{sure} *Search all* measures it on questions that did not pick it."


def _lead(best: Comparison) -> str:
    """The lead of the highest figure of several over the present one, and its certainty."""
    return f"{signed(best.difference)} {_picked(best)}; {best.certainty}"


def _picked(best: Comparison) -> str:
    """Name the questions of a figure that is the highest of several on the same questions."""
    return f"{best.basis}, which picked it"


def depth_takeaway(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], now: int, budget: int, where: str
) -> str:
    """Summarize the recall and the token cost of more passages, and ``where`` they are measured."""
    if now > len(x):
        return (
            f"The first {len(x)} passages contain {percent(lines['Recall'][-1])} of the "
            "relevant ones."
        )
    more = min(2 * now, len(x))
    recalls, tokens = lines["Recall"], lines["tokens"]
    sentence = (
        f"The first {now} contain {percent(recalls[now - 1])} of the relevant passages in "
        f"{tokens[now - 1]:,.0f} tokens{where}"
    )
    if more == now:
        return f"{sentence}."
    over = " That is over the context budget." if tokens[more - 1] > budget else ""
    return (
        f"{sentence}; {more} would contain {percent(recalls[more - 1])} in "
        f"{tokens[more - 1]:,.0f}.{over}"
    )


def heat_takeaway(heat: ScoreMap) -> str:
    """Summarize the best place of the heat map, and whether it exceeds the noise."""
    if heat.best.difference < UNCHANGED:
        return "No place is better than the present one, nor any step of the other curves."
    weight, threshold = heat.at
    at = "no threshold" if threshold is None else f"threshold {threshold:.3g}"
    return (
        f"The highest place is weight {weight:.2f} and {at}: {_lead(heat.best)} against the "
        "present one."
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
        else f"A higher {measured} ({after} instead of {before})"
    )
    return (
        f"{quality} {change.basis} {gain}). The questions picked it, and are too few to exclude a "
        f"loss of {-change.interval_95.low:.3f} on others."
    )


_KEY = "tuning_front"
_REQUESTED = 5  # questions that are timed with each
# What a ranking is worth depends on these, and hardly how long it takes.
_TIMELESS = (
    *("top_k", "threshold", "relevance", "fusion", "dense_weight", "rrf_k", "bm25_pivot"),
    *("k1", "b"),
)


def front(bench: Bench) -> tuple[str, str]:
    """The picture of quality against tokens or time; a click on a recipe tries it."""
    choices = ["Tokens of context", "Time"]
    if switch("Quality against", choices, "cost", label_visibility="collapsed") == "Time":
        return _against_time(bench)
    return _against_tokens(bench)


def _against_tokens(bench: Bench) -> tuple[str, str]:
    mixed = bench.recipe.search.mode == "hybrid"
    varied = ("top_k", "threshold", *(["dense_weight"] if mixed else []))
    what_if = bench.what_if
    points = cached(partial(by_tokens, what_if), "tokens", bench.without(*varied))
    now = cached(partial(present, what_if), "present", bench.without())
    names = "top-k, threshold and dense weight" if mixed else "top-k and threshold"
    tried = (
        f"The points are {counted(len(points), 'combination')} of {names}, whatever the grid of "
        "*Search all* is."
    )
    return _draw(bench, points, now, charts.TOKENS, tried)


def _against_time(bench: Bench) -> tuple[str, str]:
    """Only what is done for a question takes time: the mode, and how many candidates there are."""
    base, what_if = bench.base, bench.what_if
    questions = [item.text for item in base.questions.usable(bench.set_name)[:_REQUESTED]]
    measure = partial(search_times, what_if, base.search, questions)
    times = cached(measure, "times", bench.without(*_TIMELESS, "mode", "candidates"))
    *points, now = by_time(what_if, times)
    return _draw(bench, points, now, charts.TIME)


_QUALITY = (
    "Quality is nDCG@10 of the passages that a recipe returns. The cards also count passages after "
    "top-k, up to rank 10, so their nDCG@10 is another one."
)


def _draw(
    bench: Bench,
    points: Sequence[CostPoint],
    now: CostPoint,
    cost: charts.Cost,
    varied: str = "",
) -> tuple[str, str]:
    best = pareto_front(points)
    less = cheapest(best, now.quality)
    summary = front_takeaway(
        (now.cost, now.quality),
        (less.cost, less.quality) if less else None,
        charts.point_label(less) if less else "",
        _change(bench, less) if less else None,
        cost.unit,
    )
    st.caption(f"Click a point to try its recipe. {varied}".rstrip())
    charts.front_chart(
        points, best, now, summary, cost, key=_KEY, pick=lambda: _pick(bench, points)
    )
    return summary, _QUALITY


def _change(bench: Bench, point: CostPoint) -> Comparison:
    """A recipe of the front against the present one, question by question."""
    fields = tuple(sorted(point.fields.items()))
    measure = partial(against_present, bench.what_if, point.fields)
    return cached(measure, "front", (*bench.without(), fields))


def _pick(bench: Bench, points: Sequence[CostPoint]) -> None:
    event: Any = st.session_state.get(_KEY)
    for point in event.selection.points if event else []:
        number = int(point["customdata"][0])
        if number >= 0:  # the present recipe has none
            fields = points[number].fields
            working_recipe.change(bench.base, {f"search.{name}": v for name, v in fields.items()})


_LABELS = {
    "shown_precision": "Precision of the returned passages",
    "answered": ANSWERED,
    "tokens": "tokens",
}


def curves(bench: Bench) -> tuple[str, str]:
    """Draw one picture, with the present value marked; return its headline and a help."""
    curve_name = switch("What if …", [*_DRAW], "curve", width="stretch")
    if curve_name in ("Weight", "Map") and bench.recipe.search.mode != "hybrid":
        return "The weight counts in hybrid mode only.", ""
    return _DRAW[curve_name](bench)


def _lines(curve: Curve) -> dict[str, list[float]]:
    return {_LABELS.get(name) or metric_title(name): row for name, row in curve.lines.items()}


def _threshold(bench: Bench) -> tuple[str, str]:
    measure = bench.what_if.against_threshold
    curve = cached(measure, "threshold", bench.without("threshold"))
    summary = threshold_takeaway(curve.x, _lines(curve), bench.threshold)
    explained = (
        "Precision counts the returned passages of all questions, also of those "
        "without an answer. *Precision@5* is the mean over the labelled questions."
    )
    if curve.x[-1] == 1.0 and "answered" in curve.lines:  # what comes back at 1.00 has a code
        explained += f" Rare codes pass any: {percent(curve.lines['answered'][-1])} at 1.00."
    charts.threshold_chart(curve.x, _lines(curve), bench.threshold, bench.relevance, summary)
    st.caption(summary)
    measure_best = partial(bench.what_if.best_threshold, curve.at)
    best = cached(measure_best, "best threshold", bench.without())
    return threshold_headline(curve.x, _lines(curve), bench.threshold, best), explained


def _weight(bench: Bench) -> tuple[str, str]:
    curve = cached(bench.what_if.against_weight, "weight", bench.without())
    now = bench.recipe.search.dense_weight
    summary = peak_takeaway("weight", curve.at, now, curve.best, curve.lines["ndcg@10"])
    charts.weight_chart(curve.x, _lines(curve), now, summary)
    return summary, ""


def _depth(bench: Bench) -> tuple[str, str]:
    curve = cached(bench.what_if.against_depth, "depth", bench.without("top_k"))
    now, budget = bench.recipe.search.top_k, bench.recipe.answer.context_tokens
    half = " on the tuning half" if bench.part == "tuning" else ""
    summary = depth_takeaway(curve.x, _lines(curve), now, budget, half)
    charts.depth_chart(curve.x, _lines(curve), now, budget, summary)
    return summary, ""


def _map(bench: Bench) -> tuple[str, str]:
    heat = cached(bench.what_if.weight_and_threshold, "map", bench.without())
    summary = heat_takeaway(heat)
    charts.heat_map(
        heat.weights,
        heat.thresholds,
        heat.scores,
        (bench.recipe.search.dense_weight, bench.threshold),
        bench.relevance,
        summary,
    )
    if heat.refusals:
        st.caption(
            "Score: nDCG@10 of a question that the documents answer; of one that they do not, "
            "1 when it is refused."
        )
    return summary, ""


_DRAW = {
    "Threshold": _threshold,
    "Weight": _weight,
    "Top-k": _depth,
    "Map": _map,
    "Cost": front,
}
