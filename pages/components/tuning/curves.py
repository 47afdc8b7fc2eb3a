"""What would happen if one thing were changed: the curves of the tuning page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st

from pages.components.tuning import charts, front
from pages.components.tuning.bench import METRICS, Bench, Key
from pages.components.tuning.takeaways import (
    depth_takeaway,
    heat_takeaway,
    peak_takeaway,
    threshold_takeaway,
)
from rag import Comparison

THRESHOLD, WEIGHT, DEPTH, MAP, COST = "Threshold", "Weight", "Top-k", "Map", "Cost"
MIXING = (WEIGHT, MAP)
WEIGHTS = tuple(step / 20 for step in range(21))
DEPTHS = tuple(range(1, 21))
_STEPS = 40


@dataclass(frozen=True)
class Curve:
    """Lines over ``x`` by name; nan and None leave a gap. ``best`` compares the peak of the first
    line with the present recipe, ``at`` is where it is.
    """

    x: tuple[float, ...]
    lines: dict[str, list[float]]
    best: Comparison | None = None
    at: float = 0.0
    now: dict[str, float] | None = None


def curves(bench: Bench) -> None:
    """One picture at a time, with the present value marked and a sentence on what it shows."""
    shown = st.segmented_control(
        "What if …",
        [THRESHOLD, WEIGHT, DEPTH, MAP, COST],
        default=THRESHOLD,
        required=True,
        key="curve",
        bind="query-params",
        width="stretch",
    )
    if shown in MIXING and bench.recipe.search.mode != "hybrid":
        st.info("The weight counts in hybrid mode only.", icon=":material/tune:")
        return
    match shown:
        case "Threshold":
            _threshold(bench)
        case "Weight":
            _weight(bench)
        case "Top-k":
            _depth(bench)
        case "Map":
            _map(bench)
        case _:
            front.front(bench)


def _threshold(bench: Bench) -> None:
    curve = against_threshold(bench, bench.without("threshold"))
    said = threshold_takeaway(curve.x, curve.lines, bench.threshold)
    st.caption(said)
    charts.threshold_chart(curve.x, curve.lines, bench.threshold, bench.relevance, said)


@st.cache_data(max_entries=32, show_spinner=False)
def against_threshold(_bench: Bench, key: Key) -> Curve:
    """What is shown, who is answered and who refused, at every threshold."""
    x = tuple(step / _STEPS for step in range(_STEPS + 1))
    top_k = _bench.recipe.search.top_k
    recipes = _bench.varied([{"threshold": value} for value in x])[:-1]
    found = _bench.tuner.figures(
        recipes, [f"recall@{top_k}"], _bench.part, as_shown=True, totals=["relevant"]
    )
    wanted = {
        "Precision of what is shown": "shown_precision",
        f"Recall@{top_k}": f"recall@{top_k}",
        "Questions answered": "answered",
        "Rightly refused": "correct_refusal",
    }
    means = {label: found.means(name) for label, name in wanted.items()}
    # Where nothing comes back any more, nothing is left to see.
    end = min(int(np.count_nonzero(found.above.any(axis=1))) + 2, len(x))
    lines = {label: row[:end].tolist() for label, row in means.items() if row is not None}
    return Curve(x[:end], lines)


def _weight(bench: Bench) -> None:
    curve = against_weight(bench, bench.without())
    now = bench.recipe.search.dense_weight
    said = peak_takeaway("weight", curve.at, now, curve.best)
    st.caption(said)
    charts.weight_chart(curve.x, curve.lines, now, said)


@st.cache_data(max_entries=32, show_spinner=False)
def against_weight(_bench: Bench, key: Key) -> Curve:
    """Metrics at every weight; the peak is that of nDCG@10."""
    recipes = _bench.varied([{"dense_weight": value} for value in WEIGHTS])
    found = _bench.tuner.figures(recipes, METRICS[:3], _bench.part)
    labels = {"nDCG@10": "ndcg@10", "MRR@10": "mrr@10", "Recall@10": "recall@10"}
    means = {label: found.means(name) for label, name in labels.items()}
    lines = {label: row[:-1].tolist() for label, row in means.items() if row is not None}
    peak = int(np.argmax(lines["nDCG@10"]))
    best = found.compare("ndcg@10", peak, len(WEIGHTS))
    return Curve(WEIGHTS, lines, best, WEIGHTS[peak])


def _depth(bench: Bench) -> None:
    curve = against_depth(bench, bench.without("top_k"))
    now, budget = bench.recipe.search.top_k, bench.recipe.answer.context_tokens
    said = depth_takeaway(curve.x, curve.lines, now, budget)
    st.caption(said)
    charts.depth_chart(curve.x, curve.lines, now, budget, said)


@st.cache_data(max_entries=32, show_spinner=False)
def against_depth(_bench: Bench, key: Key) -> Curve:
    """Metrics of the first k, and the tokens that they take."""
    recipes = _bench.varied([{"top_k": k} for k in DEPTHS])[:-1]
    names = [f"{name}@{k}" for name in ("ndcg", "recall", "precision") for k in DEPTHS]
    found = _bench.tuner.figures(recipes, names, _bench.part, totals=["tokens"])
    labels = {"nDCG": "ndcg", "Recall": "recall", "Precision": "precision"}
    lines = {
        label: [float(found.metrics[f"{name}@{k}"][0].mean()) for k in DEPTHS]
        for label, name in labels.items()
    }
    tokens = found.means("context_tokens")
    return Curve(DEPTHS, {**lines, "tokens": [] if tokens is None else tokens.tolist()})


@dataclass(frozen=True)
class Map:
    """Scores, shape (weights, thresholds), of a recipe for every pair; and its best against now."""

    weights: tuple[float, ...]
    thresholds: tuple[float, ...]
    scores: list[list[float]]
    now: float
    refusals: bool


def _map(bench: Bench) -> None:
    found = weight_and_threshold(bench, bench.without())
    said = heat_takeaway(found.weights, found.thresholds, found.scores, found.now)
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


@st.cache_data(max_entries=32, show_spinner=False)
def weight_and_threshold(_bench: Bench, key: Key) -> Map:
    """A score that both matter for: nDCG@10, and a point for every right refusal."""
    weights, x = WEIGHTS[::2], tuple(step / 20 for step in range(17))
    recipes = _bench.varied([{"dense_weight": w, "threshold": t} for w in weights for t in x])
    found = _bench.tuner.figures(recipes, ["ndcg@10"], _bench.part)
    refused = found.by_question("correct_refusal")
    parts = [found.metrics["ndcg@10"], *([] if refused is None else [refused])]
    scores = np.concatenate(parts, axis=1).mean(axis=1)
    table = scores[:-1].reshape(len(weights), len(x))
    return Map(weights, x, table.tolist(), float(scores[-1]), refused is not None)
