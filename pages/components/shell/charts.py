"""Plotly charts as all pages draw them, with one colour per meaning, and maps of builds.

Hues start from Okabe and Ito's colour-blind safe set ("Color Universal Design", 2008) and are
moved apart until any two colours of a theme stay apart under simulated protanopia, deuteranopia
and tritanopia, and each has a contrast of 3:1 or more with the page (WCAG 2.2, 1.4.11).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import streamlit as st

from pages.components.shell import job_progress
from pages.components.shell.buttons import redraw, switch
from pages.components.shell.guard import guard
from pages.components.shell.session import offered
from rag import IndexRecipe, KnowledgeBase, PassageMap, percent

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from rag import ReliabilityBin


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours as ``#RRGGBB``. The first seven carry meaning, the others draw the chart itself."""

    dense: str
    lexical: str
    fused: str
    rerank: str
    threshold: str
    relevant: str
    not_relevant: str
    page: str
    text: str
    muted: str
    grid: str
    accent: str

    @property
    def meanings(self) -> dict[str, str]:
        """Meaning to colour, in the order of the theme's categorical colours."""
        return {field.name: getattr(self, field.name) for field in fields(self)[:7]}


LIGHT = Palette(
    dense="#1689C9",
    lexical="#D35F0B",
    fused="#9A2FD0",
    rerank="#8A2B70",
    threshold="#1C2529",
    relevant="#056A44",
    not_relevant="#86939A",
    page="#FFFFFF",
    text="#0B1316",
    muted="#5F6E75",
    grid="#D3DCDD",
    accent="#0F6B6B",
)
DARK = Palette(
    dense="#2B9ADB",
    lexical="#D85F0A",
    fused="#9450F0",
    rerank="#E7B1DC",
    threshold="#F7F4E3",
    relevant="#1FDD90",
    not_relevant="#7C898E",
    page="#12181B",
    text="#E4EAEB",
    muted="#9AA8AE",
    grid="#37434A",
    accent="#6CC5C0",
)


def palette() -> Palette:
    """The palette of the theme that the visitor sees now."""
    return DARK if st.context.theme.type == "dark" else LIGHT


@cache
@cache
def template(colours: Palette) -> go.layout.Template:
    """A plotly template. Draw with ``st.plotly_chart(figure, theme=None)``, or it is overruled."""
    # Plotly looks at pandas wherever it is in sys.modules, also while another thread is still
    # importing it, and fails on what is not there yet. Importing it here waits for that thread.
    importlib.import_module("pandas")
    import plotly.graph_objects as go

    axis = {
        "gridcolor": colours.grid,
        "linecolor": colours.grid,
        "zerolinecolor": colours.grid,
        "tickfont": {"color": colours.muted},
        "title": {"font": {"color": colours.muted, "size": 13}, "standoff": 6},
        "automargin": True,
    }
    return go.layout.Template(
        layout=go.Layout(
            colorway=list(colours.meanings.values()),
            font={"family": '"Source Sans", sans-serif', "size": 14, "color": colours.text},
            paper_bgcolor="rgba(0, 0, 0, 0)",
            plot_bgcolor="rgba(0, 0, 0, 0)",
            xaxis=axis,
            yaxis=axis,
            legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
            hoverlabel={"bgcolor": colours.page, "font": {"color": colours.text}},
            hovermode="closest",
            margin={"l": 8, "r": 8, "t": 32, "b": 8},
        )
    )


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


def select_clicked(key: str, select: Callable[[str], None]) -> None:
    """Select what the clicked point of a chart stands for: the first of its ``customdata``."""
    point = clicked_point(key)
    if point and point.get("customdata"):
        select(str(point["customdata"][0]))


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


_METHODS = {"pca": "PCA", "umap": "UMAP"}

Method = Literal["pca", "umap"]


def map_method(base: KnowledgeBase) -> Method:
    """The chosen kind of map; no switch where there is only one."""
    if len(base.documents.maps.methods) == 1:
        return "pca"
    explained = (
        "PCA shows true distances in the two directions with most variance. UMAP keeps "
        "neighbours together; distances between groups mean little."
    )
    options = {"default": "pca", "format_func": _METHODS.__getitem__, "help": explained}
    chosen = switch("Kind of map", list(base.documents.maps.methods), "map_method", **options)
    return "umap" if chosen == "umap" else "pca"


def redraw_map(base: KnowledgeBase, index: IndexRecipe, method: Method, why: str) -> None:
    """Draw a button that has the map drawn, or the job that draws it."""
    if base.documents.maps.drawing(index, method) is not None:
        _wait(base, index, method)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        icon = ":material/scatter_plot:"
        options = offered(base, "documents.maps.draw", key="draw_map", icon=icon)
        if st.button("Draw the map", **options):
            with guard():
                base.documents.maps.draw(index, method)
                st.rerun()
        st.caption(why)


@st.fragment(run_every=job_progress.POLL_SECONDS)
def _wait(base: KnowledgeBase, index: IndexRecipe, method: Method) -> None:
    job = base.documents.maps.drawing(index, method)
    if job is None:
        redraw()
    else:
        job_progress.card(job, "map", job_progress.ahead_of(job, job_progress.active()))


def accuracy_note(drawn_map: PassageMap) -> str:
    """Return a note on the accuracy of the map."""
    if drawn_map.method == "umap":
        return (
            "UMAP keeps neighbours together; distances between groups mean little, and the "
            "question is drawn among its five nearest passages."
        )
    return (
        f"{percent(drawn_map.explained)} of the variance is shown: what is near here may be far "
        "apart in the other dimensions."
    )
