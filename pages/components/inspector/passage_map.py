"""The map of all passages, with the question and what it found drawn in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import streamlit as st

from pages.components.shell.buttons import switch
from pages.components.shell.charts import (
    Figure,
    Palette,
    accuracy_note,
    chart_text,
    clicked_point,
    draw_chart,
    empty_figure,
    map_method,
    palette,
    redraw_map,
)
from pages.components.shell.guard import guard
from pages.components.shell.session import cache_data
from pages.components.shell.text import plain, shortened
from rag import (
    Hit,
    IndexRecipe,
    KnowledgeBase,
    PassageMap,
    Placed,
    Recipe,
    Trace,
    counted,
    page_name,
    percent,
)

COLOURS = ("Document", "Label", "Cosine")
NEAREST = 10
CHART = "inspector_map"
CLICKED = "inspector_map_clicked"
KEPT = 8

Select = Callable[[str], None]

Colouring = Literal["Document", "Label", "Cosine"]
Keys = npt.NDArray[np.int64]
HEIGHT = 560
NAMED = 5  # documents with a colour of their own; more could not be told apart
LONGEST = 28
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "cross")

Style = dict[str, Any]
Group = tuple[Keys, Style]  # places in the map, and how their points are drawn


@st.fragment
@guard()
def passage_map(
    base: KnowledgeBase,
    trace: Trace,
    recipe: Recipe,
    selected: Hit | None,
    grades: Mapping[int, int],
    select: Select,
) -> None:
    """Draw the map; a click on a point calls ``select`` with its passage's id.

    ``grades`` are the labels of this question by passage key.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        method = map_method(base)
        current_map = base.documents.maps.current(recipe.index, method)
        colouring = (
            COLOURS[0] if current_map is None else switch("Colour by", COLOURS, "map_colour")
        )
    if current_map is None or not len(current_map.keys):
        if base.documents.maps.drawing(recipe.index, method) is None:
            st.markdown("The map shows all passages by likeness, with the question among them.")
        redraw_map(base, recipe.index, method, "It is drawn once, in the background, and kept.")
        return
    state = (method, len(current_map.keys), float(current_map.points.sum()))
    placed = _placed(base, recipe.index, current_map, trace.question, state)
    drawing = Drawing(
        current_map,
        placed,
        trace.hits,
        grades,
        selected.chunk.key if selected else None,
        cast(Colouring, colouring),
    )
    picture, keys = figure(drawing, palette())
    summary = takeaway(current_map, placed)
    alt = f"{summary} Each point is a passage."
    draw_chart(picture, CHART, alt, zoom=True, on_select="rerun", selection_mode="points")
    st.caption(f"{summary} {accuracy_note(current_map)}".strip())
    if current_map.outdated:
        redraw_map(
            base,
            recipe.index,
            method,
            f"{percent(current_map.changed)} of the passages changed since.",
        )
    _follow(keys, select)


@cache_data(KEPT)
def _placed(
    base: KnowledgeBase, index: IndexRecipe, _shown: PassageMap, question: str, state: object
) -> Placed:
    """Return the place of the question on the map, whose version ``state`` identifies."""
    return base.documents.maps.place(index, _shown, question)


def takeaway(drawn_map: PassageMap, placed: Placed) -> str:
    """The map in a sentence: whom the question stands among, and whether that is the truth."""
    count = min(NEAREST, len(drawn_map.keys))
    apart = ((drawn_map.points - placed.point) ** 2).sum(axis=1)
    around = np.argsort(apart, kind="stable")[:count]
    true = np.argsort(-placed.cosines, kind="stable")[:count]
    names = Counter(drawn_map.names[number] for number in drawn_map.document[around])
    most = [f"{plain(name)} ({number})" for name, number in names.most_common(2) if number > 1]
    listed = ", ".join(most) or f"{counted(len(names), 'document')} without a pattern"
    both = len(set(around.tolist()) & set(true.tolist()))
    return (
        f"The question lies among {listed}. Of the {count} nearest points, {both} are also among "
        f"the {count} nearest passages."
    )


def _follow(keys: list[np.ndarray], select: Select) -> None:
    """Select the passage of the point that was clicked, once for each click."""
    point = clicked_point(CHART)
    key = _key(point, keys) if point else None
    if key == st.session_state.get(CLICKED):
        return
    st.session_state[CLICKED] = key
    if key is not None:
        select(f"{key:016x}")
        st.rerun()


def _key(point: Mapping[str, Any], keys: list[np.ndarray]) -> int | None:
    curve, point_index = int(point["curve_number"]), int(point["point_index"])
    if curve < len(keys) and point_index < len(keys[curve]):
        return int(keys[curve][point_index])
    return None


@dataclass(frozen=True, eq=False, slots=True)
class Drawing:
    """The content of the figure: map, question, hits, labels and the selected passage."""

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


def figure(drawing: Drawing, colours: Palette) -> tuple[Figure, list[Keys]]:
    """The figure, and for each of its traces the passages of its points in their order."""
    nothing = {"showticklabels": False, "zeroline": False, "showgrid": False}
    chart = empty_figure(
        colours,
        height=HEIGHT,
        legend={"itemsizing": "constant"},
        clickmode="event+select",
        dragmode="pan",
        uirevision=f"{drawing.shown.method}{len(drawing.shown.keys)}",
        xaxis=nothing,
        yaxis={**nothing, "scaleanchor": "x"} if drawing.shown.method == "pca" else nothing,
    )
    group = {"Document": _documents, "Label": _labels, "Cosine": _cosine}
    passages = [
        _light(places, style) for places, style in group[drawing.colouring](drawing, colours)
    ]
    passages += [_hits(drawing, colours), _selected(drawing, colours)]
    for places, style in passages:
        x, y = drawing.shown.points[places, 0], drawing.shown.points[places, 1]
        chart.add_trace({"type": "scatter", "mode": "markers", "x": x, "y": y, **style})
    x, y = drawing.placed.point.tolist()
    chart.add_scatter(
        x=[x],
        y=[y],
        mode="markers",
        name="question",
        marker=_mark("star", 18, colours.accent, {"width": 1.5, "color": colours.page}),
        hovertemplate="the question<extra></extra>",
    )
    return chart, [drawing.shown.keys[places] for places, _ in passages]


def _documents(drawing: Drawing, colours: Palette) -> list[Group]:
    """The documents of the hits, then the largest; all others in grey, below them."""
    passage_map = drawing.shown
    at_hits = drawing.at([hit.chunk.key for hit in drawing.hits])
    weights = Counter({int(document): 10**9 for document in passage_map.document[at_hits]})
    weights.update(dict(enumerate(np.bincount(passage_map.document, minlength=1).tolist())))
    chosen = [number for number, _ in weights.most_common(NAMED)]
    tones = (colours.dense, colours.lexical, colours.fused, colours.relevant, colours.rerank)
    groups = [
        (
            np.flatnonzero(passage_map.document == number),
            _style(tone, symbol, _short(passage_map.names[number]), drawing.size + 1),
        )
        for number, tone, symbol in zip(chosen, tones, SYMBOLS, strict=False)
    ]
    rest = np.flatnonzero(~np.isin(passage_map.document, chosen))
    others = len(passage_map.names) - len(chosen)
    name = f"{others:,} other documents" if others > 1 else "another document"
    return [(rest, _style(colours.not_relevant, "circle", name, drawing.size - 1, 0.4)), *groups]


def _labels(drawing: Drawing, colours: Palette) -> list[Group]:
    good = drawing.at([key for key, grade in drawing.grades.items() if grade > 0])
    bad = drawing.at([key for key, grade in drawing.grades.items() if grade <= 0])
    rest = np.setdiff1d(np.arange(len(drawing.shown.keys)), np.concatenate([good, bad]))
    return [
        (rest, _style(colours.not_relevant, "circle", "not judged", drawing.size, 0.4)),
        (bad, _style(colours.lexical, "x", "judged not relevant", 8, 1.0)),
        (good, _style(colours.relevant, "diamond", "relevant", 11, 1.0)),
    ]


def _cosine(drawing: Drawing, colours: Palette) -> list[Group]:
    cosines = drawing.placed.cosines
    order = np.argsort(cosines, kind="stable")  # the most similar on top
    marker = {
        "color": cosines[order],
        "colorscale": [[0, colours.grid], [0.5, colours.dense], [1, colours.text]],
        "size": drawing.size + 1,
        "colorbar": {"title": {"text": "cosine"}, "thickness": 12},
    }
    return [(order, {"marker": marker, "name": "passage", "showlegend": False})]


def _style(colour: str, symbol: str, name: str, size: float, opacity: float = 0.85) -> Style:
    marker = {"color": colour, "symbol": symbol, "size": size, "opacity": opacity}
    return {"marker": marker, "name": name}


def _light(places: Keys, style: Style) -> Group:
    """Only the group has words to show, so that many points stay light; a click fades none."""
    selection_style = {"marker": {"opacity": style["marker"].get("opacity", 0.85)}}
    words = "%{fullData.name}<extra></extra>"
    drawn = {
        "type": "scattergl",
        "hovertemplate": words,
        "selected": selection_style,
        "unselected": selection_style,
    }
    return places, drawn | style


def _mark(symbol: str, size: int, colour: str, line: Style) -> Style:
    return {"symbol": symbol, "size": size, "color": colour, "line": line}


def _hits(drawing: Drawing, colours: Palette) -> Group:
    by_key = {hit.chunk.key: hit for hit in drawing.hits}
    places = drawing.at(list(by_key))
    hits = [by_key[int(key)] for key in drawing.shown.keys[places]]
    return places, {
        "mode": "markers+text",
        "name": "results, by rank",
        "text": [f"<b>{hit.rank}</b>" for hit in hits],
        "textposition": "top center",
        "textfont": {"color": colours.text, "size": 13},
        "customdata": [_where(hit) for hit in hits],
        "hovertemplate": "rank %{text}: %{customdata}<extra></extra>",
        "marker": _mark("circle-open", 13, colours.text, {"width": 2}),
        "selected": {"marker": {"opacity": 1.0}},
        "unselected": {"marker": {"opacity": 1.0}},
    }


def _selected(drawing: Drawing, colours: Palette) -> Group:
    marker = _mark("circle-open", 22, colours.accent, {"width": 3})
    return drawing.at([] if drawing.selected is None else [drawing.selected]), {
        "name": "open passage",
        "hoverinfo": "skip",
        "marker": marker,
    }


def _where(hit: Hit) -> str:
    page = page_name(hit.document, hit.chunk.page, hit.chunk.heading, ", ")
    return _short(hit.document) + _short(page)


def _short(name: str) -> str:
    return chart_text(shortened(name, LONGEST))
