"""The rank flow: passages of one question as lines through the stages of two recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import streamlit as st

from pages.components.shell.charts import (
    Figure,
    Palette,
    chart_text,
    draw_chart,
    empty_figure,
    palette,
)
from pages.components.shell.text import plain, short_page
from rag import Hit, RankedPassage, RetrievalComparison, Trace, page_name, stage_rows

_ROW = 26  # pixels
_NAME = 12  # characters of a document's name beside a line
_BELOW = 3  # ranks that are drawn below the results; deeper ones share a row
_GAP = 2.6  # between the results of both recipes, for the names
_RETURNED = "returned"
_RETRIEVERS = {"dense": "dense_rank", "lexical": "bm25_rank"}


@dataclass(frozen=True, slots=True)
class Flow:
    """A passage on its way: its ranks by stage, None where a stage does not have it.

    ``name`` is its document, and which passage of it. ``left`` and ``right`` belong to the columns
    of both recipes, the results last.
    """

    name: tuple[str, str]
    grade: int
    left: tuple[int | None, ...]
    right: tuple[int | None, ...]

    @property
    def step(self) -> int:
        """Places gained in the results; new passages gain, gone ones lose."""
        before, after = self.left[-1], self.right[-1]
        if before is None or after is None:
            return (before is None) - (after is None)
        return before - after


def rank_flow(compared: RetrievalComparison) -> None:
    """Draw the lines with their takeaway; those of relevant passages are thick."""
    lines = flows(compared)
    if lines:
        summary = takeaway(compared, lines)
        draw_chart(figure(compared, lines, palette()), "inspector_rank_flow", summary)
        st.caption(summary)


def columns(trace: Trace) -> dict[str, Mapping[int, int]]:
    """Return the ranks by passage of each ranking stage of a retrieval, the results last."""
    ranks = dict[str, Mapping[int, int]]()
    for row in stage_rows():
        if row.name in _RETRIEVERS:
            part = _RETRIEVERS[row.name]
            ranks[row.label] = {
                hit.chunk.key: int(hit.parts[part]) for hit in trace.candidates if part in hit.parts
            }
        elif row.figure:
            ranks[row.label or row.name] = _by_figure(trace, row.figure)
    returned = {hit.chunk.key: rank for rank, hit in enumerate(trace.hits, start=1)}
    return {name: column for name, column in ranks.items() if column} | {_RETURNED: returned}


def flows(compared: RetrievalComparison) -> list[Flow]:
    """Return every passage that either recipe returns, once: the other one's results first."""
    before, after = columns(compared.before), columns(compared.after)
    orders = compared.before.ranking, compared.after.ranking

    def flow(passage: RankedPassage, left: int | None, right: int | None) -> Flow:
        return Flow(
            _name(passage),
            passage.grade,
            tuple(column.get(left) if left is not None else None for column in before.values()),
            tuple(column.get(right) if right is not None else None for column in after.values()),
        )

    lines = [
        flow(passage, _key(orders[0], passage.other), _key(orders[1], passage.rank))
        for passage in compared.sides.after
    ]
    lines += [
        flow(passage, _key(orders[0], passage.rank), _key(orders[1], passage.other))
        for passage in compared.sides.before
        if passage.other is None or passage.other > len(compared.sides.after)
    ]
    return lines


def takeaway(compared: RetrievalComparison, lines: Sequence[Flow]) -> str:
    """Return the picture in a sentence, and where relevant passages went that one recipe lost."""
    stayed = [line for line in lines if line.left[-1] and line.right[-1]]
    up, down = (sum(sign * line.step > 0 for line in stayed) for sign in (1, -1))
    new = sum(line.left[-1] is None for line in lines)
    gone = sum(line.right[-1] is None for line in lines)
    parts = [f"{up} up, {down} down, {new} new, {gone} gone."]
    for line in lines:
        if line.grade > 0 and not (line.left[-1] and line.right[-1]):
            lost_by_other = line.right[-1] is None
            trace, ranks = (
                (compared.after, line.right) if lost_by_other else (compared.before, line.left)
            )
            recipe = "the other recipe" if lost_by_other else "the recipe as it is"
            places = [
                f"{name} {rank}"
                for name, rank in zip(columns(trace), ranks, strict=True)
                if rank and name != _RETURNED
            ]
            way = f"ranks it {', '.join(places)}, but doesn't return it" if places else "misses it"
            parts.append(f"Relevant: {plain(' '.join(line.name).strip())}; {recipe} {way}.")
            break
    return " ".join(parts)


def figure(compared: RetrievalComparison, lines: Sequence[Flow], colours: Palette) -> Figure:
    """Return the chart: the stages of the recipe as it is, and mirrored those of the other one."""
    left, right = list(columns(compared.before)), list(columns(compared.after))
    places = [float(at) for at in range(len(left))]
    places += [places[-1] + _GAP + at for at in range(len(right))]
    results = max(len(compared.before.hits), len(compared.after.hits))
    deeper = results + _BELOW + 1
    ends = (0.0, "left", "as it is"), (places[-1], "right", "the other recipe")
    chart = empty_figure(
        colours,
        height=_ROW * (deeper + 1) + 110,
        showlegend=False,
        dragmode=False,
        margin={"t": 92, "b": 8},
        xaxis={
            "range": [-0.4, places[-1] + 0.4],
            "tickvals": places,
            "ticktext": [*left, *reversed(right)],
            "tickangle": -45,
            "side": "top",
            "zeroline": False,
            "fixedrange": True,
        },
        yaxis={
            "range": [deeper + 1.6, 0.2],
            "tickvals": list(range(1, deeper + 2)),
            "ticktext": [*map(str, range(1, deeper)), "deeper", "none"],
            "fixedrange": True,
            "showgrid": False,
        },
        annotations=[
            {
                "x": at,
                "xanchor": anchor,
                "y": 1,
                "yref": "paper",
                "yanchor": "bottom",
                "yshift": 62,
                "showarrow": False,
                "text": f"<b>{text}</b>",
            }
            for at, anchor, text in ends
        ],
    )
    for line in lines:
        _draw(chart, line, places, deeper, [*left, *reversed(right)], colours)
    return chart


def _draw(
    chart: Figure,
    line: Flow,
    places: Sequence[float],
    deeper: int,
    names: Sequence[str],
    colours: Palette,
) -> None:
    ranks = [*line.left, *reversed(line.right)]
    relevant = line.grade > 0
    colour = colours.relevant if relevant else colours.dense if line.step > 0 else colours.lexical
    if line.step == 0 and not relevant:
        colour = colours.muted
    style: dict[str, Any] = {"color": colour, "width": 4 if relevant else 1.5}
    if line.left[-1] is None or line.right[-1] is None:
        style["dash"] = "dot"
    rows = [deeper + 1 if rank is None else min(rank, deeper) for rank in ranks]
    chart.add_scatter(
        x=places,
        y=rows,
        mode="lines+markers",
        line=style,
        marker={"color": colour, "size": 8},
        hovertext=[
            f"{chart_text(' '.join(line.name))}<br>{name}: {f'rank {rank}' if rank else 'none'}"
            for name, rank in zip(names, ranks, strict=True)
        ],
        hoverinfo="text",
    )
    on_left = line.left[-1] is not None
    at = len(line.left) - 1 + (not on_left)
    chart.add_annotation(
        x=places[at],
        y=rows[at],
        text=_short(line.name),
        bgcolor=f"{colours.page}B3",  # lines of other passages stay in sight behind the name
        borderpad=0,
        font={"size": 11, "color": colours.muted},
        showarrow=False,
        xanchor="left" if on_left else "right",
        xshift=7 if on_left else -7,
        yanchor="bottom",
        yshift=2,
    )


def _by_figure(trace: Trace, figure: str) -> Mapping[int, int]:
    """Rank the candidates of a retrieval by a figure, the greatest first."""
    ranked = [hit for hit in trace.ranking if figure in hit.parts]
    ranked.sort(key=lambda hit: -hit.parts[figure])
    return {hit.chunk.key: rank for rank, hit in enumerate(ranked, start=1)}


def _key(order: Sequence[Hit], rank: int | None) -> int | None:
    return order[rank - 1].chunk.key if rank else None


def _name(passage: RankedPassage) -> tuple[str, str]:
    if passage.chunk is None:
        return passage.document, ""
    chunk = passage.chunk
    page = short_page(page_name(passage.document, chunk.page, chunk.heading))
    page = f"{page} " if page else ""
    return passage.document, f"{page}#{passage.chunk.order + 1}"


def _short(name: tuple[str, str]) -> str:
    document, passage = name
    stem = PurePath(document).stem if len(document) > _NAME else document
    if len(stem) > _NAME:  # names of several editions differ at their ends
        stem = f"{stem[: _NAME // 2 - 1]}…{stem[-_NAME // 2 :]}"
    return chart_text(f"{stem} {passage}")
