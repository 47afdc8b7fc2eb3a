"""Turns over time: how many, how they ended, how long they took, what they cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import streamlit as st

from pages.components.shell.charts import Figure, draw_chart, empty_figure
from pages.components.shell.palette import palette
from pages.components.shell.wording import seconds
from rag import OperationPeriod, counted, percent

_HEIGHT = 260
_WHOLE = 5  # to which every whole number is a tick: there is no half of a question

Values = Sequence[float | None]


def charts(periods: Sequence[OperationPeriod]) -> None:
    """Draw five figures over time, each below its sentence; the cards say what one moment has."""
    if len(periods) < 2:
        return
    colours = palette()
    moments = [period.start for period in periods]
    figures = [period.figures for period in periods]
    by = unit(periods)
    answered = [point.questions - point.refused - point.failed for point in figures]
    pictures = {
        "questions": (
            questions,
            _bars(
                moments,
                {
                    "answered": (answered, colours.accent),
                    "refused": ([point.refused for point in figures], colours.not_relevant),
                    "failed": ([point.failed for point in figures], colours.lexical),
                },
                f"questions per {by}",
            ),
        ),
        "refused": (
            refusals,
            _lines(
                moments,
                {"refused": ([point.refused_share for point in figures], colours.not_relevant)},
                "share of the questions",
                ".0%",
            ),
        ),
        "times": (
            times,
            _lines(
                moments,
                {
                    "median": ([point.p50 for point in figures], colours.dense),
                    "95%": ([point.p95 for point in figures], colours.fused),
                },
                "seconds per answer",
            ),
        ),
        "tokens": (
            tokens,
            _bars(
                moments,
                {
                    "prompts": ([point.prompt_tokens for point in figures], colours.dense),
                    "answers": ([point.completion_tokens for point in figures], colours.lexical),
                },
                f"tokens per {by}",
            ),
        ),
        "thumbs": (
            thumbs,
            _bars(
                moments,
                {
                    "up": ([point.thumbs_up for point in figures], colours.relevant),
                    "down": ([point.thumbs_down for point in figures], colours.lexical),
                },
                f"thumbs per {by}",
            ),
        ),
    }
    with st.grid(2, min_column_width=340, gap="medium"):
        for name, (summarize, figure) in pictures.items():
            if figure.data:
                summary = summarize(periods)
                with st.container(border=True, height="stretch", gap="small"):
                    st.markdown(f"**{summary}**")
                    draw_chart(figure, f"operations_{name}", f"Over time. {summary}")


def _bars(
    moments: Sequence[datetime], series: Mapping[str, tuple[Values, str]], title: str
) -> Figure:
    figure = _over_time(moments, title, barmode="stack", bargap=0.15)
    columns = [values for values, _ in series.values()]
    for name, (values, ink) in series.items():
        if any(values):
            figure.add_bar(x=moments, y=values, name=name, marker_color=ink, hovertemplate=_HOVER)
    most = max((sum(filter(None, column)) for column in zip(*columns, strict=True)), default=0)
    axis = {"rangemode": "tozero", "dtick": 1 if most <= _WHOLE else None}
    figure.update_layout(yaxis=axis, showlegend=len(figure.data) > 1)
    return figure


def _lines(
    moments: Sequence[datetime],
    series: Mapping[str, tuple[Values, str]],
    title: str,
    form: str = "",
) -> Figure:
    figure = _over_time(moments, title)
    non_empty = {name: line for name, line in series.items() if any(line[0])}
    for name, (values, ink) in non_empty.items():
        figure.add_scatter(
            x=moments,
            y=values,
            name=name,
            mode="lines+markers",
            line={"color": ink, "width": 2},
            hovertemplate=_HOVER,
        )
    figure.update_layout(
        yaxis={"rangemode": "tozero", "tickformat": form}, showlegend=len(non_empty) > 1
    )
    return figure


_HOVER = "%{y} · %{x|%Y-%m-%d %H:%M}<extra>%{fullData.name}</extra>"


def _over_time(moments: Sequence[datetime], title: str, **layout: object) -> Figure:
    step = moments[1] - moments[0]
    return empty_figure(
        palette(),
        height=_HEIGHT,
        xaxis={
            "title": "time (UTC)",
            "range": [moments[0] - step / 2, moments[-1] + step / 2],
            "nticks": 6,
            "ticks": "outside",
            "tickcolor": "rgba(0,0,0,0)",  # room below the lowest label of the other axis
            "ticklen": 8,
        },
        yaxis={"title": title},
        **layout,
    )


def unit(periods: Sequence[OperationPeriod]) -> str:
    """The length of a period: hour or day."""
    return "hour" if (periods[1].start - periods[0].start).days < 1 else "day"


def questions(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the number of questions, with the busiest period."""
    most = max(periods, key=lambda period: period.figures.questions)
    total = sum(period.figures.questions for period in periods)
    return f"{counted(total, 'question')}; most, {most.figures.questions:,}, {_when(most, periods)}"


def refusals(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the share of refusals, with the period that has most of them."""
    refused = sum(period.figures.refused for period in periods)
    total = sum(period.figures.questions for period in periods)
    worst = max(periods, key=lambda period: period.figures.refused)
    return (
        f"{percent(refused / total)} were refused; most, {worst.figures.refused:,}, "
        f"{_when(worst, periods)}"
    )


def times(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the answer time of the slowest period, as the 95th percentile."""
    slowest = max(periods, key=lambda period: period.figures.p95 or 0.0)
    return (
        f"At the slowest, {_when(slowest, periods)}, 95% of the answers came within "
        f"{seconds(slowest.figures.p95)}"
    )


def tokens(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the tokens of prompts and answers."""
    prompts = sum(period.figures.prompt_tokens for period in periods)
    answers = sum(period.figures.completion_tokens for period in periods)
    return f"{prompts:,} tokens in prompts, {answers:,} in answers"


def thumbs(periods: Sequence[OperationPeriod]) -> str:
    """Summarize the ratings of readers."""
    up = sum(period.figures.thumbs_up for period in periods)
    down = sum(period.figures.thumbs_down for period in periods)
    return f"{counted(up, 'thumb')} up, {down:,} down"


def _when(period: OperationPeriod, periods: Sequence[OperationPeriod]) -> str:
    if unit(periods) == "day":
        return f"on {period.start:%Y-%m-%d}"
    return f"in the hour from {period.start:%H:%M} on {period.start:%Y-%m-%d}"
