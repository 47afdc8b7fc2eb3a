"""Quality against the context it takes: which recipes no other beats in both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.tuning import charts
from pages.components.tuning.bench import Bench, Key
from pages.components.tuning.charts import Point
from pages.components.tuning.takeaways import front_takeaway, time_takeaway

_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
_KEY = "tuning_front"
TOKENS, TIME = "Tokens of context", "Time"
_MODES = ("lexical", "dense", "hybrid")
_COUNTS = (10, 20, 50, 100)
_ASKED = 5  # questions that are timed with each
# What a ranking is worth depends on these, and hardly how long it takes.
_TIMELESS = ("top_k", "threshold", "relevance", "fusion", "dense_weight", "rrf_k", "k1", "b")


def front(bench: Bench) -> None:
    """The picture of quality against tokens or time; a click on a recipe tries it."""
    against = st.segmented_control(
        "Quality against",
        [TOKENS, TIME],
        default=TOKENS,
        required=True,
        key="cost",
        bind="query-params",
        label_visibility="collapsed",
    )
    if against == TIME:
        _against_time(bench)
    else:
        _against_tokens(bench)


def _against_tokens(bench: Bench) -> None:
    varied = ("top_k", "threshold", *(["dense_weight"] if _mixes(bench) else []))
    points, now = recipes(bench, bench.without(*varied)), present(bench, bench.without())
    best = best_of(points)
    cheaper = next((point for point in best if point.quality >= now.quality), None)
    said = front_takeaway(
        (now.cost, now.quality),
        (cheaper.cost, cheaper.quality) if cheaper else None,
        cheaper.label if cheaper else "",
    )
    st.caption(f"{said} Click a point to try its recipe.")
    charts.front_chart(
        points, best, now, said, charts.TOKENS, key=_KEY, pick=lambda: _pick(bench, points)
    )


def _against_time(bench: Bench) -> None:
    """Only what is done for a question takes time: the mode, and how many candidates there are."""
    milliseconds = _timed(bench, bench.without(*_TIMELESS, "mode", "candidates"))
    points, now = _qualities(bench, milliseconds)
    best = best_of(points)
    quicker = next((point for point in best if point.quality >= now.quality), None)
    said = time_takeaway(
        (now.cost, now.quality),
        (quicker.cost, quicker.quality) if quicker else None,
        quicker.label if quicker else "",
    )
    st.caption(f"{said} Click a point to try its recipe.")
    charts.front_chart(
        points, best, now, said, charts.TIME, key=_KEY, pick=lambda: _pick(bench, points)
    )


def _pick(bench: Bench, points: Sequence[Point]) -> None:
    event: Any = st.session_state.get(_KEY)
    for each in event.selection.points if event else []:
        number = int(each["customdata"][0])
        if number >= 0:  # the present recipe has none
            fields = points[number].fields
            working_recipe.change(bench.base, {f"search.{name}": v for name, v in fields.items()})


def best_of(points: Sequence[Point]) -> list[Point]:
    """Those that no other beats in both, from the cheapest to the best."""
    found: list[Point] = []
    for point in sorted(points, key=lambda each: (each.cost, -each.quality)):
        if not found or point.quality > found[-1].quality:
            found.append(point)
    return found


@st.cache_data(max_entries=8, show_spinner="Timing searches …")
def _timed(_bench: Bench, key: Key) -> list[tuple[str, int, float]]:
    """Median milliseconds of real searches on this machine, by mode and candidates."""
    asked = [item.text for item in _bench.base.questions.usable(_bench.set_name)[:_ASKED]]
    found = []
    for mode in _MODES:
        for count in _COUNTS:
            (recipe, _) = _bench.varied([{"mode": mode, "candidates": count}])
            seconds = [_bench.base.search(text, recipe).seconds for text in asked]
            found.append((mode, count, 1000 * float(np.median(seconds))))
    return found


def _qualities(
    bench: Bench, milliseconds: Sequence[tuple[str, int, float]]
) -> tuple[list[Point], Point]:
    """Points of all, and of the one that is nearest to the present recipe."""
    changes = [{"mode": mode, "candidates": count} for mode, count, _ in milliseconds]
    recipes_timed = bench.varied(changes)
    figures = bench.tuner.figures(recipes_timed, ["ndcg@10"], bench.part, as_shown=True)
    found = figures.means("ndcg@10")
    values = [0.0] * (len(changes) + 1) if found is None else found.tolist()
    points = [
        Point(cost, quality, fields)
        for (*_, cost), quality, fields in zip(milliseconds, values[:-1], changes, strict=True)
    ]
    search = bench.recipe.search
    alike = [point for point in points if point.fields["mode"] == search.mode]
    near = min(alike, key=lambda point: abs(point.fields["candidates"] - search.candidates))
    fields = {"mode": search.mode, "candidates": search.candidates}
    return points, Point(near.cost, values[-1], fields)


def _mixes(bench: Bench) -> bool:
    return bench.recipe.search.mode == "hybrid"


@st.cache_data(max_entries=16, show_spinner="Measuring recipes …")
def recipes(_bench: Bench, key: Key) -> list[Point]:
    """Recipes of every depth, threshold and weight."""
    weights = [{"dense_weight": step / 10} for step in range(11)] if _mixes(_bench) else [{}]
    changes: list[dict[str, Any]] = [
        {"top_k": k, "threshold": limit, **weight}
        for k in _DEPTHS
        for limit in (None, *(step / 20 for step in range(2, 17, 2)))
        for weight in weights
    ]
    return _measured(_bench, changes)


@st.cache_data(max_entries=32, show_spinner=False)
def present(_bench: Bench, key: Key) -> Point:
    """The recipe of the sliders."""
    search = _bench.recipe.search
    mix = {"dense_weight": search.dense_weight} if _mixes(_bench) else {}
    fields = {"top_k": search.top_k, "threshold": _bench.threshold, **mix}
    return _measured(_bench, [fields])[0]


def _measured(bench: Bench, changes: Sequence[dict[str, Any]]) -> list[Point]:
    found = bench.tuner.figures(
        bench.varied(changes)[:-1], ["ndcg@10"], bench.part, as_shown=True, totals=["tokens"]
    )
    tokens, quality = found.means("context_tokens"), found.means("ndcg@10")
    both = np.stack([np.zeros(len(found)) if row is None else row for row in (tokens, quality)])
    return [Point(*pair, fields) for pair, fields in zip(both.T.tolist(), changes, strict=True)]
