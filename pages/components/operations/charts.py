"""Turns over time: how many, how they ended, how long they took, what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

import streamlit as st

from pages.components.operations import takeaways
from pages.components.shell.charts import Figure, draw_chart, empty_figure
from pages.components.shell.palette import palette
from rag import OperationPeriod

_HEIGHT = 260

Values = Sequence[float | None]


def charts(periods: Sequence[OperationPeriod]) -> None:
    """A sentence each on five figures, and under it the chart, unless that would be empty."""
    colours = palette()
    moments = [each.start for each in periods]
    found = [each.figures for each in periods]
    by = takeaways.unit(periods)
    with st.grid(2, min_column_width=340, gap="medium"):
        answered = [each.questions - each.refused - each.failed for each in found]
        _drawn(
            "questions",
            takeaways.questions(periods),
            _bars(
                moments,
                {
                    "answered": (answered, colours.accent),
                    "refused": ([each.refused for each in found], colours.not_relevant),
                    "failed": ([each.failed for each in found], colours.lexical),
                },
                f"questions per {by}",
            ),
        )
        _drawn(
            "refused",
            takeaways.refusals(periods),
            _lines(
                moments,
                {"refused": ([each.refused_share for each in found], colours.not_relevant)},
                "share of the questions",
                ".0%",
            ),
        )
        _drawn(
            "times",
            takeaways.times(periods),
            _lines(
                moments,
                {
                    "median": ([each.p50 for each in found], colours.dense),
                    "95%": ([each.p95 for each in found], colours.fused),
                },
                "seconds to the end of the answer",
            ),
        )
        _drawn(
            "tokens",
            takeaways.tokens(periods),
            _bars(
                moments,
                {
                    "prompts": ([each.prompt_tokens for each in found], colours.dense),
                    "answers": ([each.completion_tokens for each in found], colours.lexical),
                },
                f"tokens per {by}",
            ),
        )
        _drawn(
            "thumbs",
            takeaways.thumbs(periods),
            _bars(
                moments,
                {
                    "up": ([each.thumbs_up for each in found], colours.relevant),
                    "down": ([-each.thumbs_down for each in found], colours.lexical),
                },
                f"thumbs per {by}",
            ),
        )


def _drawn(name: str, said: str, figure: Figure) -> None:
    with st.container(border=True, height="stretch", gap="small"):
        st.markdown(f"**{said}**")
        if figure.data:  # axes alone say nothing, and plotly numbers them from 0 to 6
            draw_chart(figure, f"operations_{name}", f"Over time. {said}")


def _bars(
    moments: Sequence[datetime], series: Mapping[str, tuple[Values, str]], title: str
) -> Figure:
    figure = _over_time(moments, title, barmode="relative", bargap=0.15)
    for name, (values, ink) in series.items():
        if any(values):
            figure.add_bar(x=moments, y=values, name=name, marker_color=ink, hovertemplate=_HOVER)
    figure.update_layout(yaxis={"rangemode": "tozero"}, showlegend=len(figure.data) > 1)
    return figure


def _lines(
    moments: Sequence[datetime],
    series: Mapping[str, tuple[Values, str]],
    title: str,
    form: str = "",
) -> Figure:
    figure = _over_time(moments, title)
    shown = {name: line for name, line in series.items() if any(line[0])}
    for name, (values, ink) in shown.items():
        figure.add_scatter(
            x=moments,
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": ink, "width": 2},
            hovertemplate=_HOVER,
        )
    figure.update_layout(
        yaxis={"rangemode": "tozero", "tickformat": form}, showlegend=len(shown) > 1
    )
    return figure


_HOVER = "%{y} · %{x|%Y-%m-%d %H:%M}<extra>%{fullData.name}</extra>"


def _over_time(moments: Sequence[datetime], title: str, **layout: object) -> Figure:
    # One day alone is drawn as a day: plotly would divide it down to milliseconds.
    step = moments[1] - moments[0] if len(moments) > 1 else timedelta(days=1)
    return empty_figure(
        palette(),
        height=_HEIGHT,
        xaxis={
            "title": "time (UTC)",
            "range": [moments[0] - step / 2, moments[-1] + step / 2],
            "nticks": 6,
        },
        yaxis={"title": title},
        **layout,
    )
