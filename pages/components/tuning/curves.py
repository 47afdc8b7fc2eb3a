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
    shown = switch("What if …", [*_DRAW], "curve", width="stretch")
    if shown in ("Weight", "Map") and bench.recipe.search.mode != "hybrid":
        st.info("The weight counts in hybrid mode only.", icon=":material/tune:")
        return
    _DRAW[shown](bench)


def _lines(curve: Curve) -> dict[str, list[float]]:
    return {_LABELS.get(name) or metric_title(name): row for name, row in curve.lines.items()}


def _threshold(bench: Bench) -> None:
    measure = bench.what_if.against_threshold
    curve = cached(measure, "threshold", bench.without("threshold"))
    said = threshold_takeaway(curve.x, _lines(curve), bench.threshold)
    st.caption(said)
    charts.threshold_chart(curve.x, _lines(curve), bench.threshold, bench.relevance, said)


def _weight(bench: Bench) -> None:
    curve = cached(bench.what_if.against_weight, "weight", bench.without())
    now = bench.recipe.search.dense_weight
    said = peak_takeaway("weight", curve.at, now, curve.best)
    st.caption(said)
    charts.weight_chart(curve.x, _lines(curve), now, said)


def _depth(bench: Bench) -> None:
    curve = cached(bench.what_if.against_depth, "depth", bench.without("top_k"))
    now, budget = bench.recipe.search.top_k, bench.recipe.answer.context_tokens
    said = depth_takeaway(curve.x, _lines(curve), now, budget)
    st.caption(said)
    charts.depth_chart(curve.x, _lines(curve), now, budget, said)


def _map(bench: Bench) -> None:
    found = cached(bench.what_if.weight_and_threshold, "map", bench.without())
    said = heat_takeaway(found.weights, found.thresholds, found.scores, found.now, found.best)
    st.caption(said)
    charts.heat_map(
        found.weights,
        found.thresholds,
        found.scores,
        (bench.recipe.search.dense_weight, bench.threshold),
        bench.relevance,
        said,
    )
    if found.refusals:
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
