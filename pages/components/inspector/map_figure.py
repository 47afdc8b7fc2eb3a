"""The map of passages as a plotly figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from pages.components.shell.palette import Palette, template
from rag import Hit, PassageMap, Placed

if TYPE_CHECKING:
    import plotly.graph_objects as go

Colouring = Literal["Document", "Label", "Similarity"]
Keys = npt.NDArray[np.int64]
HEIGHT = 560
NAMED = 5  # documents with a colour of their own; more could not be told apart
LONGEST = 28
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")


@dataclass(frozen=True, eq=False, slots=True)
class Drawing:
    """What the figure shows: the map, the question on it, its hits, labels and the open passage."""

    shown: PassageMap
    placed: Placed
    hits: Sequence[Hit]
    grades: Mapping[int, int]
    selected: int | None
    colouring: Colouring

    @property
    def size(self) -> float:
        """Of a point: smaller the more there are."""
        return float(np.clip(11 - 1.7 * np.log10(max(len(self.shown.keys), 1)), 2.5, 9))

    def at(self, keys: Sequence[int]) -> npt.NDArray[np.int64]:
        """Places in the map of those of ``keys`` that are on it."""
        return np.flatnonzero(np.isin(self.shown.keys, np.array(keys, np.int64)))


def figure(drawing: Drawing, colours: Palette) -> tuple[go.Figure, list[Keys]]:
    """The figure, and for each of its traces the passages of its points in their order."""
    import plotly.graph_objects as go

    chart = go.Figure(layout={"template": template(colours)})
    keys: list[Keys] = []
    groups = {"Document": _documents, "Label": _labels, "Similarity": _similarity}
    for places, style in groups[drawing.colouring](drawing, colours):
        chart.add_trace(_points(drawing, places, style))
        keys.append(drawing.shown.keys[places])
    for places, trace in (_hits(drawing, colours), _selected(drawing, colours)):
        chart.add_trace(trace)
        keys.append(drawing.shown.keys[places])
    chart.add_trace(_question(drawing, colours))
    nothing = {"showticklabels": False, "zeroline": False, "showgrid": False}
    chart.update_layout(
        height=HEIGHT,
        legend={"itemsizing": "constant"},
        clickmode="event+select",
        dragmode="pan",
        uirevision=f"{drawing.shown.method}{len(drawing.shown.keys)}",
        xaxis=nothing,
        yaxis={**nothing, "scaleanchor": "x"} if drawing.shown.method == "pca" else nothing,
    )
    return chart, keys


Style = dict[str, Any]
Group = tuple[Keys, Style]


def _documents(drawing: Drawing, colours: Palette) -> list[Group]:
    """The documents of the hits, then the largest; all others in grey, below them."""
    shown = drawing.shown
    at_hits = drawing.at([hit.chunk.key for hit in drawing.hits])
    wanted = Counter({int(each): 10**9 for each in shown.document[at_hits]})
    wanted.update(dict(enumerate(np.bincount(shown.document, minlength=1).tolist())))
    chosen = [number for number, _ in wanted.most_common(NAMED)]
    tones = (colours.dense, colours.lexical, colours.fused, colours.relevant, colours.rerank)
    groups = [
        (
            np.flatnonzero(shown.document == number),
            _style(tone, symbol, _short(shown.names[number]), drawing.size + 1),
        )
        for number, tone, symbol in zip(chosen, tones, SYMBOLS, strict=False)
    ]
    rest = np.flatnonzero(~np.isin(shown.document, chosen))
    others = len(shown.names) - len(chosen)
    name = f"{others:,} other documents" if others > 1 else "another document"
    return [(rest, _style(colours.not_relevant, "circle", name, drawing.size - 1, 0.4)), *groups]


def _labels(drawing: Drawing, colours: Palette) -> list[Group]:
    good = drawing.at([key for key, grade in drawing.grades.items() if grade > 0])
    bad = drawing.at([key for key, grade in drawing.grades.items() if grade == 0])
    rest = np.setdiff1d(np.arange(len(drawing.shown.keys)), np.concatenate([good, bad]))
    return [
        (rest, _style(colours.not_relevant, "circle", "not judged", drawing.size, 0.4)),
        (bad, _style(colours.lexical, "x", "judged not relevant", 8, 1.0)),
        (good, _style(colours.relevant, "diamond", "relevant", 11, 1.0)),
    ]


def _similarity(drawing: Drawing, colours: Palette) -> list[Group]:
    cosines = drawing.placed.cosines
    order = np.argsort(cosines, kind="stable")  # the most similar on top
    marker = {
        "color": cosines[order],
        "colorscale": [[0, colours.grid], [0.5, colours.dense], [1, colours.text]],
        "size": drawing.size + 1,
        "colorbar": {"title": {"text": "similarity"}, "thickness": 12},
    }
    return [(order, {"marker": marker, "name": "passage", "showlegend": False})]


def _style(colour: str, symbol: str, name: str, size: float, opacity: float = 0.85) -> Style:
    marker = {"color": colour, "symbol": symbol, "size": size, "opacity": opacity}
    return {"marker": marker, "name": name}


def _points(drawing: Drawing, places: Keys, style: Style) -> go.Scattergl:
    """Passages; only the trace has words to show, so that many points stay light."""
    import plotly.graph_objects as go

    opacity = style["marker"].get("opacity", 0.85)
    return go.Scattergl(
        x=drawing.shown.points[places, 0],
        y=drawing.shown.points[places, 1],
        mode="markers",
        hovertemplate="%{fullData.name}<extra></extra>",
        selected={"marker": {"opacity": opacity}},
        unselected={"marker": {"opacity": opacity}},
        **style,
    )


def _hits(drawing: Drawing, colours: Palette) -> tuple[Keys, go.Scatter]:
    import plotly.graph_objects as go

    by_key = {hit.chunk.key: hit for hit in drawing.hits}
    places = drawing.at(list(by_key))
    found = [by_key[int(key)] for key in drawing.shown.keys[places]]
    return places, go.Scatter(
        x=drawing.shown.points[places, 0],
        y=drawing.shown.points[places, 1],
        mode="markers+text",
        name="results, by rank",
        text=[f"<b>{hit.rank}</b>" for hit in found],
        textposition="top center",
        textfont={"color": colours.text, "size": 13},
        customdata=[_where(hit) for hit in found],
        hovertemplate="rank %{text}: %{customdata}<extra></extra>",
        marker={
            "symbol": "circle-open",
            "size": 13,
            "color": colours.text,
            "line": {"width": 2},
        },
        selected={"marker": {"opacity": 1.0}},
        unselected={"marker": {"opacity": 1.0}},
    )


def _selected(drawing: Drawing, colours: Palette) -> tuple[Keys, go.Scatter]:
    import plotly.graph_objects as go

    places = drawing.at([] if drawing.selected is None else [drawing.selected])
    return places, go.Scatter(
        x=drawing.shown.points[places, 0],
        y=drawing.shown.points[places, 1],
        mode="markers",
        name="open passage",
        hoverinfo="skip",
        marker={
            "symbol": "circle-open",
            "size": 22,
            "color": colours.accent,
            "line": {"width": 3},
        },
    )


def _question(drawing: Drawing, colours: Palette) -> go.Scatter:
    import plotly.graph_objects as go

    x, y = drawing.placed.point.tolist()
    return go.Scatter(
        x=[x],
        y=[y],
        mode="markers",
        name="question",
        marker={
            "symbol": "star",
            "size": 18,
            "color": colours.accent,
            "line": {"width": 1.5, "color": colours.page},
        },
        hovertemplate="the question<extra></extra>",
    )


def _where(hit: Hit) -> str:
    page = "" if hit.chunk.page is None else f", page {hit.chunk.page}"
    return _short(hit.document) + page


def _short(name: str) -> str:
    # Plotly reads a few tags in its labels; a name must not become one.
    cut = name if len(name) <= LONGEST else f"{name[: LONGEST - 9]}…{name[-8:]}"
    return cut.replace("&", "&amp;").replace("<", "&lt;")
