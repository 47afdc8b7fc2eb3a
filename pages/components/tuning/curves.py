"""The curves of the tuning page: the effect of one parameter, and of quality against context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.buttons import switch
from pages.components.tuning import charts
from pages.components.tuning.bench import Bench, cached
from pages.components.tuning.takeaways import (
    ANSWERED,
    REFUSED,
    depth_takeaway,
    front_takeaway,
    heat_takeaway,
    peak_takeaway,
    threshold_takeaway,
)
from rag import (
    Comparison,
    CostPoint,
    Curve,
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
)

_KEY = "tuning_front"
_REQUESTED = 5  # questions that are timed with each
# What a ranking is worth depends on these, and hardly how long it takes.
_TIMELESS = (
    *("top_k", "threshold", "relevance", "fusion", "dense_weight", "rrf_k", "bm25_pivot"),
    *("k1", "b"),
)


def front(bench: Bench) -> None:
    """The picture of quality against tokens or time; a click on a recipe tries it."""
    choices = ["Tokens of context", "Time"]
    if switch("Quality against", choices, "cost", label_visibility="collapsed") == "Time":
        _against_time(bench)
    else:
        _against_tokens(bench)


def _against_tokens(bench: Bench) -> None:
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
    _draw(bench, points, now, charts.TOKENS, tried)


def _against_time(bench: Bench) -> None:
    """Only what is done for a question takes time: the mode, and how many candidates there are."""
    base, what_if = bench.base, bench.what_if
    questions = [item.text for item in base.questions.usable(bench.set_name)[:_REQUESTED]]
    measure = partial(search_times, what_if, base.search, questions)
    times = cached(measure, "times", bench.without(*_TIMELESS, "mode", "candidates"))
    *points, now = by_time(what_if, times)
    _draw(bench, points, now, charts.TIME)


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
) -> None:
    best = pareto_front(points)
    less = cheapest(best, now.quality)
    summary = front_takeaway(
        (now.cost, now.quality),
        (less.cost, less.quality) if less else None,
        charts.point_label(less) if less else "",
        _change(bench, less) if less else None,
        cost.unit,
    )
    st.caption(f"{summary} Click a point to try its recipe. {varied}".rstrip(), help=_QUALITY)
    charts.front_chart(
        points, best, now, summary, cost, key=_KEY, pick=lambda: _pick(bench, points)
    )


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
    "correct_refusal": REFUSED,
    "tokens": "tokens",
}


def curves(bench: Bench) -> None:
    """One picture at a time, with the present value marked and a sentence on what it shows."""
    curve_name = switch("What if …", [*_DRAW], "curve", width="stretch")
    if curve_name in ("Weight", "Map") and bench.recipe.search.mode != "hybrid":
        st.info("The weight counts in hybrid mode only.", icon=":material/tune:")
        return
    _DRAW[curve_name](bench)


def _lines(curve: Curve) -> dict[str, list[float]]:
    return {_LABELS.get(name) or metric_title(name): row for name, row in curve.lines.items()}


def _threshold(bench: Bench) -> None:
    measure = bench.what_if.against_threshold
    curve = cached(measure, "threshold", bench.without("threshold"))
    summary = threshold_takeaway(curve.x, _lines(curve), bench.threshold)
    if curve.x[-1] == 1.0 and "answered" in curve.lines:  # what comes back at 1.00 has a code
        summary += f" Rare codes pass any: {percent(curve.lines['answered'][-1])} at 1.00."
    st.caption(
        summary,
        help="Precision counts the returned passages of all questions, also of those without an "
        "answer. *Precision@5* is the mean over the labelled questions.",
    )
    charts.threshold_chart(curve.x, _lines(curve), bench.threshold, bench.relevance, summary)


def _weight(bench: Bench) -> None:
    curve = cached(bench.what_if.against_weight, "weight", bench.without())
    now = bench.recipe.search.dense_weight
    summary = peak_takeaway("weight", curve.at, now, curve.best, curve.lines["ndcg@10"])
    st.caption(summary)
    charts.weight_chart(curve.x, _lines(curve), now, summary)


def _depth(bench: Bench) -> None:
    curve = cached(bench.what_if.against_depth, "depth", bench.without("top_k"))
    now, budget = bench.recipe.search.top_k, bench.recipe.answer.context_tokens
    summary = depth_takeaway(curve.x, _lines(curve), now, budget)
    st.caption(summary)
    charts.depth_chart(curve.x, _lines(curve), now, budget, summary)


def _map(bench: Bench) -> None:
    heat = cached(bench.what_if.weight_and_threshold, "map", bench.without())
    summary = heat_takeaway(heat.weights, heat.thresholds, heat.scores, heat.now, heat.best)
    st.caption(summary)
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


_DRAW = {
    "Threshold": _threshold,
    "Weight": _weight,
    "Top-k": _depth,
    "Map": _map,
    "Cost": front,
}
