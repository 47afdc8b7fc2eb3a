"""Plotly charts as all pages draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import streamlit as st

from pages.components.shell.palette import Palette, palette, template

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from rag import ReliabilityBin


Figure: TypeAlias = "go.Figure"  # plotly itself is imported when a chart is drawn


def empty_figure(colours: Palette, **layout: Any) -> Figure:
    """A figure in the colours of the theme, with nothing drawn yet."""
    import plotly.graph_objects as go

    return go.Figure(layout={"template": template(colours), **layout})


def unchecked_figure(
    colours: Palette, traces: Sequence[Mapping[str, Any]], **layout: Any
) -> Figure:
    """A figure of traces as plotly's JSON has them: titles, for one, are mappings.

    Plotly checks each value of a figure, which takes ten times as long as all else about it; a
    test checks the ones that are drawn so.
    """
    import plotly.graph_objects as go

    drawn = {"template": template(colours), **layout}
    return go.Figure(data=list(traces), layout=drawn, _validate=False)


def draw_chart(figure: Figure, key: str, alt: str, *, zoom: bool = False, **options: Any) -> Any:
    """Draw a figure without plotly's toolbar; ``zoom`` by the wheel. Returns the selection."""
    config = {"displayModeBar": False, "scrollZoom": zoom}
    return st.plotly_chart(figure, theme=None, key=key, config=config, alt=alt, **options)


def clicked_point(key: str) -> dict[str, Any] | None:
    """The point of a chart that was clicked before this run, if one was."""
    event: Any = st.session_state.get(key)
    points = event.selection.points if event else []
    return points[0] if points else None


def chart_text(text: str) -> str:
    """Text for labels of a chart: plotly reads a few tags, and a name must not become one."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def reliability_diagram(bins: Sequence[ReliabilityBin]) -> Figure:
    """The share that was relevant against the probability that was stated, with 95% intervals."""
    colours = palette()
    figure = empty_figure(colours, height=300, showlegend=False)
    ideal = {"color": colours.muted, "dash": "dot", "width": 1}
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", line=ideal, hoverinfo="skip")
    figure.add_scatter(
        x=[point.predicted for point in bins],
        y=[point.observed for point in bins],
        customdata=[point.count for point in bins],
        mode="markers",
        marker={"size": 9, "color": colours.accent},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [point.interval.high - point.observed for point in bins],
            "arrayminus": [point.observed - point.interval.low for point in bins],
            "color": colours.muted,
            "thickness": 1.2,
        },
        hovertemplate="says %{x:.0%}: %{y:.0%} of %{customdata:,} relevant<extra></extra>",
    )
    share = {"range": [-0.02, 1.02], "tickformat": ".0%"}
    figure.update_layout(
        xaxis={"title": "predicted probability", "dtick": 0.25} | share,
        yaxis={"title": "relevant in fact"} | share,
    )
    return figure
