"""Quality against the context it takes: which recipes no other beats in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from pages.components import recipe_state, tuning_charts
from pages.components.tuning_bench import Bench, Key
from pages.components.tuning_words import front_takeaway

_DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
_KEY = "tuning_front"


@dataclass(frozen=True)
class Point:
    """A recipe: the mean tokens of its context, and the nDCG@10 of what it shows."""

    tokens: float
    quality: float
    fields: Mapping[str, Any]

    @property
    def label(self) -> str:
        """The fields in a few words."""
        limit = self.fields["threshold"]
        weight = self.fields.get("dense_weight")
        parts = [
            f"top-{self.fields['top_k']}",
            "no threshold" if limit is None else f"threshold {limit:.2f}",
            *([] if weight is None else [f"weight {weight:.1f}"]),
        ]
        return ", ".join(parts)


def front(bench: Bench) -> None:
    """The picture; a click on a recipe tries it."""
    varied = ("top_k", "threshold", *(["dense_weight"] if _mixes(bench) else []))
    points, now = recipes(bench, bench.without(*varied)), present(bench, bench.without())
    best = best_of(points)
    cheaper = next((point for point in best if point.quality >= now.quality), None)
    said = front_takeaway(
        (now.tokens, now.quality),
        (cheaper.tokens, cheaper.quality) if cheaper else None,
        cheaper.label if cheaper else "",
    )
    st.caption(f"{said} Click a point to try its recipe.")
    tuning_charts.front_chart(points, best, now, said, key=_KEY, pick=lambda: _pick(bench, points))


def _pick(bench: Bench, points: Sequence[Point]) -> None:
    event: Any = st.session_state.get(_KEY)
    for each in event.selection.points if event else []:
        number = int(each["customdata"][0])
        if number >= 0:  # the present recipe has none
            fields = points[number].fields
            recipe_state.change(bench.base, {f"search.{name}": v for name, v in fields.items()})


def best_of(points: Sequence[Point]) -> list[Point]:
    """Those that no other beats in both, from the cheapest to the best."""
    found: list[Point] = []
    for point in sorted(points, key=lambda each: (each.tokens, -each.quality)):
        if not found or point.quality > found[-1].quality:
            found.append(point)
    return found


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
