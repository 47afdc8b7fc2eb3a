"""The verdict meter: the interval of the difference of two runs by labels, and the verdict."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.charts import Figure, chart_text, draw_chart, empty_figure
from pages.components.shell.palette import Palette, palette
from pages.components.shell.text import plain
from pages.components.shell.wording import clipped
from rag import RunDecision

_HEIGHT = 250
_LONGEST = 26
_FEWEST = 10  # labels on the axis at least
_SHOWN_FROM = 4  # the axis fits the interval after a quarter of the labels: it starts very wide
_FORECAST = 2  # a forecast further away than this many times the labels is not drawn


def verdict_line(decision: RunDecision, run: str, other: str) -> None:
    """Draw the verdict in words; ``run`` and ``other`` are names of the runs."""
    icon = ":material/balance:" if decision.state.verdict == "open" else ":material/task_alt:"
    st.markdown(f"{icon} **{plain(decision.headline(run, other))}**")


def verdict_meter(decision: RunDecision, run: str, other: str, key: str) -> None:
    """Draw the chart, and the table behind it."""
    sentence = decision.headline(run, other)
    draw_chart(
        figure(decision, run, other, palette()),
        f"{key}_meter",
        f"The interval of the difference after each label, with the zone of equality. {sentence}",
    )
    with st.expander("Interval after each label", icon=":material/table_rows:"):
        st.dataframe(
            rows(decision),
            key=f"{key}_table",
            hide_index=True,
            height=260 if len(decision.state.steps) > 6 else "auto",
            column_config={
                name: st.column_config.NumberColumn(format="%+.3f")
                for name in ("Difference", "Low", "High")
            },
            alt="The estimate of the difference and its 95% interval after each label.",
        )


def rows(decision: RunDecision) -> list[dict[str, float]]:
    """The rows of the table behind the chart, the latest label first."""
    return [
        {
            "Labels": step.labels,
            "Difference": step.difference,
            "Low": step.low,
            "High": step.high,
        }
        for step in reversed(decision.state.steps)
    ]


def figure(decision: RunDecision, run: str, other: str, colours: Palette) -> Figure:
    """The chart as a plotly figure."""
    state = decision.state
    labels = [step.labels for step in state.steps]
    chart = empty_figure(colours, height=_HEIGHT, showlegend=False, dragmode=False)
    line = {"color": colours.accent, "width": 1, "shape": "hv"}
    for name, ends in (
        ("high", [s.high for s in state.steps]),
        ("low", [s.low for s in state.steps]),
    ):
        chart.add_scatter(
            x=labels,
            y=ends,
            mode="lines",
            line=line,
            fill="tonexty" if name == "low" else None,
            fillcolor=_translucent(colours.accent, 0.22),
            name=name,
            hovertemplate=f"after %{{x}} labels<br>{name} %{{y:+.3f}}<extra></extra>",
        )
    chart.add_scatter(
        x=labels,
        y=[step.difference for step in state.steps],
        mode="lines+markers" if len(labels) == 1 else "lines",
        line={"color": colours.text, "width": 2, "shape": "hv"},
        name="difference",
        hovertemplate="after %{x} labels<br>difference %{y:+.3f}<extra></extra>",
    )
    _zone(chart, decision, colours)
    _sides(chart, run, other, colours)
    end = _forecast(chart, decision, colours)
    limit = _limit(decision)
    chart.update_layout(
        xaxis={"title": "labels", "range": [0, end], "showgrid": False},
        yaxis={
            "title": f"difference in {decision.measure}",
            "range": [-limit, limit],
            "tickformat": "+.2~f",
            "zeroline": True,
            "zerolinecolor": colours.muted,
        },
    )
    return chart


def _zone(chart: Figure, decision: RunDecision, colours: Palette) -> None:
    """Draw the zone in which the runs are equal."""
    margin = decision.state.margin
    chart.add_hrect(
        y0=-margin,
        y1=margin,
        fillcolor=_translucent(colours.threshold, 0.14),
        line={"color": colours.muted, "width": 1, "dash": "dot"},
        layer="below",
    )


def _sides(chart: Figure, run: str, other: str, colours: Palette) -> None:
    for y, anchor, name in ((1.0, "top", run), (0.0, "bottom", other)):
        chart.add_annotation(
            x=1,
            y=y,
            xref="paper",
            yref="paper",
            xanchor="right",
            yanchor=anchor,
            showarrow=False,
            text=f"{chart_text(clipped(name, _LONGEST))} is better",
            font={"size": 12, "color": colours.muted},
        )


def _forecast(chart: Figure, decision: RunDecision, colours: Palette) -> int:
    """Draw where the verdict is expected, if that is near; returns the end of the axis."""
    state = decision.state
    end = max(state.labels + 1, _FEWEST)
    if state.more is None or state.more > _FORECAST * state.labels:
        return end
    expected = state.labels + state.more
    chart.add_vline(x=expected, line={"color": colours.muted, "width": 1, "dash": "dash"})
    chart.add_annotation(
        x=expected,
        y=0,
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        yshift=18,
        showarrow=False,
        text="decided, about",
        font={"size": 12, "color": colours.muted},
    )
    return max(end, round(expected * 1.04) + 1)


def _limit(decision: RunDecision) -> float:
    steps, state = decision.state.steps, decision.state
    step = steps[len(steps) // _SHOWN_FROM]
    return max(abs(step.low), abs(step.high), 2.0 * state.margin) * 1.3


def _translucent(colour: str, opacity: float) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity})"
