"""One colour per meaning, for every chart, in light and dark.

Hues start from Okabe and Ito's colour-blind safe set ("Color Universal Design", 2008) and are
moved apart until any two colours of a theme stay apart under simulated protanopia, deuteranopia
and tritanopia, and each has a contrast of 3:1 or more with the page (WCAG 2.2, 1.4.11).
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, fields
from functools import cache
from typing import TYPE_CHECKING

import streamlit as st

if TYPE_CHECKING:
    import plotly.graph_objects as go


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
