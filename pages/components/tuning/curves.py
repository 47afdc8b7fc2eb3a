"""The curves of the tuning page: the effect of a change to one parameter."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import switch
from pages.components.tuning import charts, front
from pages.components.tuning.bench import Bench, cached
from pages.components.tuning.takeaways import (
    ANSWERED,
    REFUSED,
    depth_takeaway,
    heat_takeaway,
    peak_takeaway,
    threshold_takeaway,
)
from rag import Curve, metric_title

_LABELS = {
    "shown_precision": "Precision of what is shown",
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
    st.caption(summary)
    charts.threshold_chart(curve.x, _lines(curve), bench.threshold, bench.relevance, summary)


def _weight(bench: Bench) -> None:
    curve = cached(bench.what_if.against_weight, "weight", bench.without())
    now = bench.recipe.search.dense_weight
    summary = peak_takeaway("weight", curve.at, now, curve.best)
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
    "Cost": front.front,
}
