"""The plots of the tuning page: lines with the present value marked, a map, a front."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pages.components.shell.charts import Figure, draw_chart, empty_figure, palette, template
from rag import CostPoint

_HEIGHT = 330
_SHAPES = ("solid", "dash", "dot", "dashdot")


class Cost(NamedTuple):
    """A kind of cost of a recipe: the title of its axis, and its unit."""

    axis: str
    unit: str


TOKENS = Cost("context, tokens per question (mean)", "tokens")
TIME = Cost("time of a search on this machine, ms (median)", "ms")


def point_label(point: CostPoint) -> str:
    """The fields of a recipe in a few words."""
    fields = point.fields
    if "mode" in fields:
        return f"{fields['mode']}, {fields['candidates']:,} candidates"
    limit, weight = fields["threshold"], fields.get("dense_weight")
    parts = [
        f"top-{fields['top_k']}",
        "no threshold" if limit is None else f"threshold {limit:.2f}",
        *([] if weight is None else [f"weight {weight:.1f}"]),
    ]
    return ", ".join(parts)


def threshold_chart(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    now: float | None,
    axis: str,
    summary: str,
) -> None:
    """Shares against the threshold."""
    colours = palette()
    inks = (colours.relevant, colours.dense, colours.accent, colours.lexical)
    figure = _lines(x, lines, inks, "%{y:.2f} at %{x:.2f}", now)
    figure.update_layout(
        xaxis={"title": f"threshold, {axis}", "range": [0, x[-1]]},
        yaxis={"title": "share (0 to 1)", "range": [0, 1.03]},
    )
    draw_chart(figure, "tuning_threshold", f"Lines against the threshold. {summary}")


def weight_chart(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], now: float, summary: str
) -> None:
    """Metrics against the dense weight."""
    colours = palette()
    inks = (colours.accent, colours.fused, colours.dense)
    figure = _lines(x, lines, inks, "%{y:.3f} at %{x:.2f}", now)
    figure.update_layout(
        xaxis={"title": "dense weight (0: lexical alone, 1: dense alone)", "range": [0, 1]},
        yaxis={"title": "score (0 to 1)", "range": _around(lines)},
    )
    draw_chart(figure, "tuning_weight", f"Metrics against the dense weight. {summary}")


def depth_chart(
    x: Sequence[float], lines: Mapping[str, Sequence[float]], now: int, budget: int, summary: str
) -> None:
    """Metrics against k; below, the tokens of context."""
    from plotly.subplots import make_subplots

    colours = palette()
    inks = {"nDCG": colours.accent, "Recall": colours.dense, "Precision": colours.lexical}
    figure = make_subplots(
        rows=2, shared_xaxes=True, row_heights=[0.62, 0.38], vertical_spacing=0.08
    )
    figure.update_layout(template=template(colours), height=_HEIGHT + 110, hovermode="x unified")
    for (name, ink), dash in zip(inks.items(), _SHAPES, strict=False):
        line = {"color": ink, "dash": dash, "width": 2}
        figure.add_scatter(
            x=x, y=lines[name], name=name, line=line, hovertemplate="%{y:.3f}", row=1, col=1
        )
    figure.add_bar(
        x=x,
        y=lines["tokens"],
        name="Context",
        showlegend=False,
        marker={"color": colours.not_relevant},
        hovertemplate="%{y:,.0f} tokens",
        row=2,
        col=1,
    )
    if lines["tokens"] and budget < lines["tokens"][-1]:
        line = {"color": colours.threshold, "dash": "dot", "width": 1.5}
        figure.add_hline(y=budget, line=line, annotation_text="budget", row=2, col=1)
    if now <= len(x):
        figure.add_vline(x=now, line={"color": colours.threshold, "dash": "dash", "width": 1.5})
        gap = figure.layout.yaxis2.domain[1], figure.layout.yaxis.domain[0]
        # Between the two charts, where no line crosses it.
        figure.add_annotation(
            x=now, y=sum(gap) / 2, yref="paper", text=f"now {now}", showarrow=False
        )
    figure.update_yaxes(title="score (0 to 1)", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title="tokens", tickformat=",d", row=2, col=1)
    figure.update_xaxes(title="k (passages returned)", dtick=1 if len(x) < 12 else 2, row=2, col=1)
    draw_chart(figure, "tuning_depth", f"Metrics and context tokens against k. {summary}")


def heat_map(
    weights: Sequence[float],
    thresholds: Sequence[float],
    scores: Sequence[Sequence[float]],
    now: tuple[float, float | None],
    axis: str,
    summary: str,
) -> None:
    """A score for every pair of weight and threshold; the present pair is marked."""
    colours = palette()
    figure = empty_figure(colours, height=_HEIGHT + 40)
    figure.add_heatmap(
        x=thresholds,
        y=weights,
        z=scores,
        colorscale=[[0, colours.grid], [1, colours.accent]],  # the page's looks like a gap
        colorbar={"title": {"text": "score"}, "thickness": 12, "outlinewidth": 0},
        xgap=1,
        ygap=1,
        hovertemplate="weight %{y:.2f}, threshold %{x:.2f}: %{z:.3f}<extra></extra>",
    )
    weight, threshold = now
    if threshold is not None:
        ink = colours.threshold
        figure.add_scatter(
            x=[threshold],
            y=[weight],
            mode="markers",
            marker={"symbol": "circle-open", "size": 16, "color": ink, "line": {"width": 3}},
            hovertemplate="the present recipe<extra></extra>",
            showlegend=False,
        )
    figure.update_layout(
        xaxis={"title": f"threshold, {axis}", "showgrid": False},
        yaxis={"title": "dense weight", "showgrid": False},
    )
    draw_chart(figure, "tuning_map", f"Heat map of a score over weight and threshold. {summary}")


def front_chart(
    points: Sequence[CostPoint],
    best: Sequence[CostPoint],
    now: CostPoint,
    summary: str,
    cost: Cost,
    *,
    key: str,
    pick: Callable[[], None],
) -> None:
    """Every recipe as a point; the front as a line, the present recipe as a star."""
    colours = palette()
    figure = empty_figure(colours, height=_HEIGHT + 30)
    places = {id(point): number for number, point in enumerate(points)}

    def add(group: Sequence[CostPoint], name: str, **style: Any) -> None:
        figure.add_scatter(
            x=[point.cost for point in group],
            y=[point.quality for point in group],
            customdata=[[places.get(id(point), -1), point_label(point)] for point in group],
            name=name,
            hovertemplate="%{customdata[1]}<br>nDCG@10 %{y:.3f}, %{x:,.0f} "
            f"{cost.unit}<extra></extra>",
            **style,
        )

    grey = {"color": colours.not_relevant, "size": 5, "opacity": 0.35}
    add(points, f"{len(points):,} tried", mode="markers", marker=grey)
    line = {"color": colours.accent, "width": 2}
    add(best, "best for its size", mode="lines+markers", line=line, marker={"size": 9})
    star = {"symbol": "star", "size": 16, "color": colours.lexical}
    add([now], "now", mode="markers", marker=star)
    figure.update_layout(
        clickmode="event+select",
        dragmode=False,
        xaxis={"title": cost.axis, "rangemode": "tozero"},
        yaxis={"title": "nDCG@10 of the returned passages"},
    )
    alt = f"Recipes by {cost.axis} and nDCG@10. {summary}"
    draw_chart(figure, key, alt, on_select=pick, selection_mode="points")


def _lines(
    x: Sequence[float],
    lines: Mapping[str, Sequence[float]],
    inks: Sequence[str],
    hover: str,
    now: float | None,
) -> Figure:
    """Lines, with the present value marked where there is one."""
    colours = palette()
    figure = empty_figure(colours, height=_HEIGHT)
    for (name, values), ink, dash in zip(lines.items(), inks, _SHAPES, strict=False):
        line = {"color": ink, "dash": dash, "width": 2}
        figure.add_scatter(x=x, y=values, name=name, mode="lines", line=line, hovertemplate=hover)
    if now is not None:
        anchor = "left" if now < x[-1] / 2 else "right"
        label = {"text": f"now {now:.2f}", "font": {"color": colours.text}, "xanchor": anchor}
        figure.add_vline(
            x=now,
            line={"color": colours.threshold, "dash": "dash", "width": 1.5},
            annotation=label,
            annotation_position="top",  # above the plot, where no line crosses it
        )
        figure.update_layout(legend={"y": 1.11})  # above the label
    return figure


def _around(lines: Mapping[str, Sequence[float]]) -> list[float]:
    """The part of 0 to 1 that lines fill, with some room, also where they are flat."""
    values = [value for row in lines.values() for value in row]
    room = max(0.1 * (max(values) - min(values)), 0.03)
    return [max(min(values) - room, -0.02), min(max(values) + room, 1.03)]
