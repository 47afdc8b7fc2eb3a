"""The pictures of a run: measures against k, and where the first relevant passage stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from pages.components.metrics.cards import MEASURES, cutoffs
from pages.components.shell.palette import palette, template
from rag import QuestionResult, Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

_LINES = {"ndcg": ("solid", "circle"), "recall": ("dash", "square"), "mrr": ("dot", "diamond")}
_LINES |= {"precision": ("dashdot", "triangle-up")}
_HEIGHT = 300
_BANDS = ((1, 1), (2, 2), (3, 3), (4, 5), (6, 10), (11, 20), (21, 10_000))
NOT_FOUND = "not found"


def against_k(run: Run) -> None:
    """Measures by how many passages are looked at."""
    st.markdown("**How deep must one look?**")
    st.caption(depth_takeaway(run))
    st.plotly_chart(
        _lines(run),
        theme=None,
        key="metrics_against_k",
        config={"displayModeBar": False},
        alt=f"Lines of nDCG, recall, MRR and precision against k. {depth_takeaway(run)}",
    )


def depth_takeaway(run: Run) -> str:
    """What the lines say, in a sentence."""
    five, ten = run.metrics.get("recall@5"), run.metrics.get("recall@10")
    if five is None or ten is None:
        return "How the figures change with the number of passages looked at."
    return f"The first 5 passages hold {five:.0%} of what is relevant, the first 10 {ten:.0%}."


def _lines(run: Run) -> go.Figure:
    import plotly.graph_objects as go

    colours = palette()
    inks = (colours.accent, colours.dense, colours.fused, colours.lexical)
    ks = cutoffs(run)
    figure = go.Figure(layout={"template": template(colours), "height": _HEIGHT})
    for (name, (dash, symbol)), ink in zip(_LINES.items(), inks, strict=True):
        figure.add_scatter(
            x=[str(k) for k in ks],
            y=[run.metrics.get(f"{name}@{k}") for k in ks],
            name=MEASURES[name],
            mode="lines+markers",
            line={"color": ink, "dash": dash, "width": 2},
            marker={"symbol": symbol, "size": 8},
            hovertemplate="%{y:.3f} at k = %{x}",
        )
    figure.update_layout(
        xaxis={"title": "k (passages looked at)", "type": "category"},
        yaxis={"title": "score (0 to 1)", "range": [0, 1.03]},
    )
    return figure


def first_ranks(results: Sequence[QuestionResult]) -> None:
    """How many questions have their first relevant passage at which rank."""
    counts = rank_counts(results)
    st.markdown("**Where is the first relevant passage?**")
    st.caption(rank_takeaway(counts))
    st.plotly_chart(
        _bars(counts),
        theme=None,
        key="metrics_first_ranks",
        config={"displayModeBar": False},
        alt=f"Histogram of the rank of the first relevant passage. {rank_takeaway(counts)}",
    )


def rank_counts(results: Sequence[QuestionResult]) -> dict[str, int]:
    """Questions by the rank of their first relevant passage, in bands; labelled ones only."""
    counts = {_band(low, high): 0 for low, high in _BANDS} | {NOT_FOUND: 0}
    for result in results:
        if result.relevant:
            counts[_band_of(result.first_relevant)] += 1
    return counts


def _band_of(rank: int | None) -> str:
    if rank is None:
        return NOT_FOUND
    return next(_band(low, high) for low, high in _BANDS if low <= rank <= high)


def _band(low: int, high: int) -> str:
    if low == high:
        return str(low)
    return f"{low}+" if high > 1000 else f"{low}–{high}"


def rank_takeaway(counts: Mapping[str, int]) -> str:
    """What the bars say, in a sentence."""
    total = sum(counts.values())
    if not total:
        return "No question of this set has a labelled passage."
    have = "question has" if total == 1 else "questions have"
    return (
        f"{counts['1']:,} of {total:,} {have} a relevant passage at rank 1; "
        f"{counts[NOT_FOUND]:,} find none."
    )


def _ticks(most: int) -> dict[str, int]:
    """Whole numbers only: few questions have no halves."""
    return {"dtick": 1} if most < 6 else {"nticks": 6}


def _bars(counts: Mapping[str, int]) -> go.Figure:
    import plotly.graph_objects as go

    colours = palette()
    inks = [colours.not_relevant if name == NOT_FOUND else colours.relevant for name in counts]
    figure = go.Figure(layout={"template": template(colours), "height": _HEIGHT, "bargap": 0.25})
    figure.add_bar(
        x=list(counts),
        y=list(counts.values()),
        text=[f"{number:,}" if number else "" for number in counts.values()],
        textposition="outside",
        cliponaxis=False,
        marker={"color": inks},
        hovertemplate="rank %{x}: %{y} questions<extra></extra>",
    )
    figure.update_layout(
        xaxis={"title": "rank of the first relevant passage", "type": "category"},
        yaxis={"title": "questions", "tickformat": ",d", **_ticks(max(counts.values()))},
    )
    return figure
