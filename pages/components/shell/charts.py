"""Plotly charts as all pages draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import streamlit as st

from pages.components.shell.palette import Palette, template

if TYPE_CHECKING:
    import plotly.graph_objects as go


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
