"""Quality against the context it takes: which recipes no other beats in both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.buttons import switch
from pages.components.tuning import charts
from pages.components.tuning.bench import Bench, cached
from pages.components.tuning.takeaways import front_takeaway, time_takeaway
from rag import (
    Comparison,
    CostPoint,
    against_present,
    by_time,
    by_tokens,
    cheapest,
    pareto_front,
    present,
    search_times,
)

_KEY = "tuning_front"
_ASKED = 5  # questions that are timed with each
# What a ranking is worth depends on these, and hardly how long it takes.
_TIMELESS = ("top_k", "threshold", "relevance", "fusion", "dense_weight", "rrf_k", "k1", "b")

Takeaway = Callable[[tuple[float, float], tuple[float, float] | None, str, Comparison | None], str]


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
    _draw(bench, points, now, front_takeaway, charts.TOKENS)


def _against_time(bench: Bench) -> None:
    """Only what is done for a question takes time: the mode, and how many candidates there are."""
    base, what_if = bench.base, bench.what_if
    questions = [item.text for item in base.questions.usable(bench.set_name)[:_ASKED]]
    measure = partial(search_times, what_if, base.search, questions)
    times = cached(measure, "times", bench.without(*_TIMELESS, "mode", "candidates"))
    *points, now = by_time(what_if, times)
    _draw(bench, points, now, time_takeaway, charts.TIME)


def _draw(
    bench: Bench,
    points: Sequence[CostPoint],
    now: CostPoint,
    takeaway: Takeaway,
    cost: tuple[str, str],
) -> None:
    best = pareto_front(points)
    less = cheapest(best, now.quality)
    summary = takeaway(
        (now.cost, now.quality),
        (less.cost, less.quality) if less else None,
        charts.point_label(less) if less else "",
        _change(bench, less) if less else None,
    )
    st.caption(f"{summary} Click a point to try its recipe.")
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
