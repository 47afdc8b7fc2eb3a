"""Two lists of passages with a line for every passage from its place left to its place right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from pages.components.shell.charts import Figure, chart_text, draw_chart, empty_figure
from pages.components.shell.palette import Palette, palette
from rag import RankedPassage, RetrievalComparison

_ROW = 26
_NAME = 12  # characters of a document's name beside a line


@dataclass(frozen=True, slots=True)
class Move:
    """A passage (document, and which of it) from a rank left to a rank right.

    None: that list does not show it.
    """

    name: tuple[str, str]
    before: int | None
    after: int | None
    grade: int


def moves(compared: RetrievalComparison) -> list[Move]:
    """Every passage that either list shows, once; ranks beyond a list count as not shown."""
    before, after = listed(compared)
    moved = [Move(_name(right), right.other, right.rank, right.grade) for right in after]
    ranks_before = {move.before for move in moved}
    gone = [
        Move(_name(hit), hit.rank, hit.other, hit.grade)
        for hit in before
        if hit.rank not in ranks_before
    ]
    return [*moved, *gone]


def listed(compared: RetrievalComparison) -> tuple[list[RankedPassage], list[RankedPassage]]:
    """Both lists; a passage that the other one does not show has no rank there."""
    before, after = compared.sides.before, compared.sides.after
    return [_within(passage, after) for passage in before], [
        _within(passage, before) for passage in after
    ]


def _within(passage: RankedPassage, others: Sequence[RankedPassage]) -> RankedPassage:
    beyond = passage.other is not None and passage.other > len(others)
    return replace(passage, other=None) if beyond else passage


def moves_chart(compared: RetrievalComparison) -> None:
    """Draws the lines; those of relevant passages are thick."""
    drawn = moves(compared)
    if drawn:
        draw_chart(figure(drawn, palette()), "inspector_moves", takeaway(drawn))
        st.caption(takeaway(drawn))


def takeaway(drawn: list[Move]) -> str:
    """The picture in one sentence."""
    steps = [move.before - move.after for move in drawn if move.before and move.after]
    up, down = sum(step > 0 for step in steps), sum(step < 0 for step in steps)
    new = sum(move.before is None for move in drawn)
    gone = sum(move.after is None for move in drawn)
    return f"{up} up, {down} down, {new} new, {gone} gone."


def figure(drawn: list[Move], colours: Palette) -> Figure:
    """The chart as a plotly figure."""
    lowest = max(rank for move in drawn for rank in (move.before, move.after) if rank) + 1
    chart = empty_figure(
        colours,
        height=_ROW * lowest + 70,
        showlegend=False,
        dragmode=False,
        xaxis={
            "range": [-1.1, 2.1],
            "tickvals": [0, 1],
            "ticktext": ["as it is", "the other recipe"],
            "side": "top",
            "zeroline": False,
            "fixedrange": True,
            "showgrid": False,
        },
        yaxis={
            "range": [lowest + 0.6, 0.4],
            "tickvals": list(range(1, lowest + 1)),
            "ticktext": [*map(str, range(1, lowest)), "none"],
            "fixedrange": True,
            "showgrid": False,
        },
    )
    for move in drawn:
        _line(chart, move, lowest, colours)
    return chart


def _line(chart: Figure, move: Move, lowest: int, colours: Palette) -> None:
    step = _step(move)
    colour = colours.relevant if move.grade else colours.dense if step > 0 else colours.lexical
    if step == 0 and not move.grade:
        colour = colours.muted
    names = [_short(move.name) if rank else "" for rank in (move.before, move.after)]
    style: dict[str, Any] = {"color": colour, "width": 4 if move.grade else 2}
    if move.before is None or move.after is None:
        style["dash"] = "dot"
    chart.add_scatter(
        x=[0, 1],
        y=[move.before or lowest, move.after or lowest],
        mode="lines+markers+text",
        line=style,
        marker={"color": colour, "size": 9},
        text=[f"{names[0]} ", f" {names[1]}"],
        textposition=["middle left", "middle right"],
        textfont={"size": 11, "color": colours.muted},
        hovertext=f"{chart_text(' '.join(move.name))}: {move.before or 'not shown'} → "
        f"{move.after or 'not shown'}",
        hoverinfo="text",
    )


def _step(move: Move) -> int:
    """Places gained; new passages gain, gone ones lose."""
    if move.before is None or move.after is None:
        return 1 if move.before is None else -1
    return move.before - move.after


def _name(passage: RankedPassage) -> tuple[str, str]:
    """The document, and which passage of it."""
    if passage.chunk is None:
        return passage.document, ""
    page = "" if passage.chunk.page is None else f"p. {passage.chunk.page} "
    return passage.document, f"{page}#{passage.chunk.order + 1}"


def _short(name: tuple[str, str]) -> str:
    document, passage = name
    short = document if len(document) <= _NAME else f"{document[: _NAME - 1]}…"
    return chart_text(f"{short} {passage}")
