"""The picture of a retrieval: every candidate by rank and relevance, with the cuts as lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.components.inspector.candidates import FOUND_BY, Candidate, FoundBy
from pages.components.shell.palette import Palette, palette, template
from pages.components.shell.wording import relevance
from rag import Trace

if TYPE_CHECKING:
    import plotly.graph_objects as go

CHART = "inspector_picture"
HEIGHT = 270
Drawn = dict[str, Any]
_SYMBOLS = {"dense": "circle", "lexical": "diamond", "both": "square", "tool": "star"}


def candidate_chart(
    trace: Trace, shown: Sequence[Candidate], selected: int | None, grades: Mapping[int, int]
) -> None:
    """Draws the picture; a click on a point selects its passage (see ``clicked``).

    Points of passages with a grade above 0 (by key) are filled.
    """
    colours = palette()
    st.plotly_chart(
        figure(trace, shown, selected, colours, grades),
        theme=None,
        key=CHART,
        on_select="rerun",
        selection_mode="points",
        config={"displayModeBar": False},
        alt=f"{takeaway(trace, shown)} Each point is a candidate: rank against relevance.",
    )
    st.caption(f"{takeaway(trace, shown)} {labelled(shown, grades)}")


def clicked() -> int | None:
    """The passage of the point that was clicked before this run, if one was."""
    event: Any = st.session_state.get(CHART)
    points = event.selection.points if event else []
    return int(str(points[0]["customdata"][0]), 16) if points else None


def takeaway(trace: Trace, shown: Sequence[Candidate]) -> str:
    """The picture in one sentence."""
    if not shown:
        return "No candidates."
    best = max(each.hit.relevance for each in shown)
    kept = len(trace.hits)
    if trace.threshold is None:
        return f"{kept} of {len(shown)} candidates come back; there is no threshold."
    passing = sum(each.group != "threshold" for each in shown)
    return (
        f"{passing} of {len(shown)} candidates reach {relevance(trace)} {trace.threshold:.2f} "
        f"(the best has {best:.2f}); {kept} come back."
    )


def labelled(shown: Sequence[Candidate], grades: Mapping[int, int]) -> str:
    """How many of the candidates are known to be relevant; "" while nothing is known."""
    known = [grades[each.hit.chunk.key] for each in shown if each.hit.chunk.key in grades]
    if not known:
        return ""
    return f"Filled: {sum(grade > 0 for grade in known)} labelled relevant."


def figure(
    trace: Trace,
    shown: Sequence[Candidate],
    selected: int | None,
    colours: Palette,
    grades: Mapping[int, int],
) -> go.Figure:
    """The chart as a plotly figure."""
    import plotly.graph_objects as go

    chart = go.Figure(layout={"template": template(colours)})
    for origin, label in FOUND_BY.items():
        points = [each for each in shown if each.origin == origin]
        if points:
            chart.add_trace(_points(points, origin, label, colours, grades))
    _mark_selected(chart, shown, selected, colours)
    lines, labels = _cuts(trace, colours)
    chart.update_layout(
        shapes=lines,
        annotations=labels,
        height=HEIGHT,
        clickmode="event+select",
        dragmode=False,
        xaxis={"title": "rank", "rangemode": "tozero", "zeroline": False},
        yaxis={"title": f"relevance ({trace.relevance})", "zeroline": False},
    )
    return chart


def _points(
    points: list[Candidate],
    origin: FoundBy,
    label: str,
    colours: Palette,
    grades: Mapping[int, int],
) -> go.Scatter:
    import plotly.graph_objects as go

    colour = {
        "dense": colours.dense,
        "lexical": colours.lexical,
        "both": colours.fused,
        "tool": colours.rerank,
    }[origin]
    return go.Scatter(
        x=[each.hit.rank for each in points],
        y=[each.hit.relevance for each in points],
        customdata=[[each.hit.chunk.id, _where(each)] for each in points],
        mode="markers",
        name=label,
        marker={
            "color": colour,
            "symbol": [_symbol(origin, grades.get(each.hit.chunk.key)) for each in points],
            "size": 9,
            "line": {"width": 1.5},
            "opacity": [1.0 if each.group in ("prompt", "context") else 0.4 for each in points],
        },
        selected={"marker": {"opacity": 1.0}},
        unselected={"marker": {"opacity": 0.4}},
        hovertemplate="%{customdata[1]}<br>rank %{x}, relevance %{y:.3f}<extra></extra>",
    )


def _symbol(origin: FoundBy, grade: int | None) -> str:
    """Filled for relevant, crossed for judged and not relevant, else hollow."""
    shape = _SYMBOLS[origin]
    if grade is None:
        return f"{shape}-open"
    return shape if grade else f"{shape}-x-open"


def _where(each: Candidate) -> str:
    # Plotly reads a few tags in its labels; a name must not become one.
    source = f"{each.hit.base}: " if each.hit.base else ""
    name = f"{source}{each.hit.document}".replace("&", "&amp;").replace("<", "&lt;")
    return name if each.hit.chunk.page is None else f"{name}, page {each.hit.chunk.page}"


def _mark_selected(
    chart: go.Figure, shown: Sequence[Candidate], selected: int | None, colours: Palette
) -> None:
    for each in shown:
        if each.hit.chunk.key == selected:
            chart.add_scatter(
                x=[each.hit.rank],
                y=[each.hit.relevance],
                mode="markers",
                marker={
                    "symbol": "circle-open",
                    "size": 17,
                    "color": colours.text,
                    "line": {"width": 2},
                },
                hoverinfo="skip",
                showlegend=False,
            )


def _cuts(trace: Trace, colours: Palette) -> tuple[list[Drawn], list[Drawn]]:
    """The cuts as lines and their labels."""
    lines, labels = [], list[Drawn]()
    if trace.threshold is not None:
        y = trace.threshold
        lines.append({"x0": 0, "x1": 1, "xref": "x domain", "y0": y, "y1": y, "dash": "dash"})
        at = {"x": 1, "xref": "x domain", "y": y, "xanchor": "right", "yanchor": "bottom"}
        labels.append({**at, "text": f"threshold {y:.2f}", "showarrow": False})
    stage = trace.stage("top_k")
    if stage and stage.dropped and trace.hits:
        x = (trace.hits[-1].rank + stage.dropped[0].hit.rank) / 2
        lines.append({"x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "y domain", "dash": "dot"})
        at = {"x": x, "y": 1, "yref": "y domain", "xanchor": "left", "yanchor": "top"}
        labels.append({**at, "text": f"top-k {len(trace.hits)}", "showarrow": False})
    return [_line(each, colours) for each in lines], labels


def _line(ends: Drawn, colours: Palette) -> Drawn:
    style = {"color": colours.threshold, "width": 1.5, "dash": ends["dash"]}
    return {**{key: value for key, value in ends.items() if key != "dash"}, "line": style}
