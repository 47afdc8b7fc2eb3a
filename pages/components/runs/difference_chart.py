"""The difference of two runs on every question, from the greatest gain to the greatest loss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from pages.components.shell.charts import (
    Figure,
    chart_text,
    clicked_point,
    draw_chart,
    empty_figure,
)
from pages.components.shell.palette import Palette, palette
from pages.components.shell.wording import clipped
from rag import QuestionDifference, RunComparison, counted, lower_is_better, metric_title

_HEIGHT = 260
_LONGEST = 70
_FEWEST = 12  # places on the axis, or a few bars would be walls


def difference_chart(compared: RunComparison, select: Callable[[str], None], key: str) -> None:
    """Draw the bars; a click on one selects its question. Without a difference, there is none."""
    st.caption(takeaway(compared))
    if all(row.outcome == "tied" for row in compared.rows):
        return
    draw_chart(
        figure(compared, palette()),
        key,
        f"Bars: difference in {metric_title(compared.figures.metric)} on every question. "
        f"{takeaway(compared)}",
        on_select=lambda: _clicked(key, select),
        selection_mode="points",
    )


def _clicked(key: str, select: Callable[[str], None]) -> None:
    if point := clicked_point(key):
        select(str(point["customdata"][0]))


def takeaway(compared: RunComparison) -> str:
    """The bars in one sentence."""
    figures = compared.figures
    better, worse = outcome_words(compared)[:2]
    return (
        f"{better.capitalize()} on {counted(figures.won, 'question')}, {worse} on "
        f"{figures.lost:,}, the same on {figures.tied:,}."
    )


def outcome_words(compared: RunComparison) -> tuple[str, str, str]:
    """The words for what was won, lost and tied; neutral if the runs aren't comparable."""
    if not compared.figures.obstacle:
        return "better", "worse", "the same"
    if lower_is_better(compared.figures.metric):
        return "lower", "higher", "the same"
    return "higher", "lower", "the same"


def sorted_by_gain(rows: Sequence[QuestionDifference]) -> list[QuestionDifference]:
    """The greatest gain first, the greatest loss last."""
    return sorted(rows, key=lambda row: -row.gain)


def figure(compared: RunComparison, colours: Palette) -> Figure:
    """The chart as a plotly figure; a difference of zero is a tick on the line."""
    rows = sorted_by_gain(compared.rows)
    chart = empty_figure(colours, height=_HEIGHT, bargap=0.15)
    inks = {"won": colours.relevant, "lost": colours.lexical, "tied": colours.not_relevant}
    for outcome, name in zip(inks, outcome_words(compared), strict=True):
        points = [(number, row) for number, row in enumerate(rows, 1) if row.outcome == outcome]
        if points:
            chart.add_bar(
                x=[number for number, _ in points],
                y=[row.difference for _, row in points],
                customdata=[[row.question_id, _label(row)] for _, row in points],
                name=f"{name} ({len(points):,})",
                marker={"color": inks[outcome], "line": {"width": 0}},
                hovertemplate="%{customdata[1]}<br>%{y:+.3f}<extra></extra>",
            )
    chart.update_layout(
        clickmode="event+select",
        dragmode=False,
        showlegend=True,
        xaxis={
            "title": "questions, by difference",
            "showgrid": False,
            "showticklabels": False,
            "range": [0.4, max(len(rows), _FEWEST) + 0.6],
        },
        yaxis={
            "title": f"difference in {metric_title(compared.figures.metric)}",
            "zeroline": True,
            "zerolinecolor": colours.muted,
            "tickformat": "+.2f",
        },
    )
    return chart


def _label(row: QuestionDifference) -> str:
    return chart_text(clipped(row.text, _LONGEST))
