"""The map of all passages, with the question and what it found drawn in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import numpy as np
import streamlit as st

from pages.components.inspector.map_figure import Colouring, Drawing, figure
from pages.components.shell import job_progress
from pages.components.shell.guard import guard
from pages.components.shell.palette import palette
from pages.components.shell.session import workspace
from pages.components.shell.text import plain
from rag import Hit, KnowledgeBase, PassageMap, Placed, Recipe, Trace

COLOURS = ("Document", "Label", "Similarity")
METHODS = {"pca": "PCA", "umap": "UMAP"}
NEAREST = 10
CHART = "inspector_map"
CLICKED = "inspector_map_clicked"
KEPT = 8

Select = Callable[[str], None]


def passage_map(
    base: KnowledgeBase,
    trace: Trace,
    recipe: Recipe,
    selected: Hit | None,
    grades: Mapping[int, int],
    select: Select,
) -> None:
    """Draws the map; a click on a point calls ``select`` with its passage's id.

    ``grades`` are the labels of this question by passage key.
    """
    with guard():
        _map(base, trace, recipe, selected, grades, select)


@st.fragment
def _map(
    base: KnowledgeBase,
    trace: Trace,
    recipe: Recipe,
    selected: Hit | None,
    grades: Mapping[int, int],
    select: Select,
) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        method = _method(base)
        shown = base.maps.current(recipe.index, method)
        colouring = _colouring() if shown is not None else COLOURS[0]
    if shown is None or not len(shown.keys):
        _offer(base, recipe, method)
        return
    placed = _placed(base, recipe, shown, trace.question, method)
    drawing = Drawing(
        shown,
        placed,
        trace.hits,
        grades,
        selected.chunk.key if selected else None,
        cast(Colouring, colouring),
    )
    picture, keys = figure(drawing, palette())
    said = takeaway(shown, placed)
    event: Any = st.plotly_chart(
        picture,
        theme=None,
        key=CHART,
        on_select="rerun",
        selection_mode="points",
        config={"scrollZoom": True, "displaylogo": False, "displayModeBar": False},
        alt=f"{said} Each point is a passage.",
    )
    st.caption(f"{said} {note(shown)}".strip())
    if shown.outdated:
        _redraw(base, recipe, method, f"{shown.changed:.0%} of the passages changed since.")
    _follow(event, keys, select)


def _colouring() -> str:
    chosen = st.segmented_control(
        "Colour by",
        COLOURS,
        key="map_colour",
        default=COLOURS[0],
        required=True,
        bind="query-params",
    )
    return str(chosen)


def _method(base: KnowledgeBase) -> Literal["pca", "umap"]:
    """The chosen kind of map; no switch where there is only one."""
    if len(base.maps.methods) == 1:
        return "pca"
    chosen = st.segmented_control(
        "Kind of map",
        list(base.maps.methods),
        key="map_method",
        default="pca",
        required=True,
        format_func=lambda method: METHODS[method],
        bind="query-params",
        help="PCA shows true distances in the two directions with most variance. UMAP keeps "
        "neighbours together; distances between groups mean little.",
    )
    return "umap" if chosen == "umap" else "pca"


def _offer(base: KnowledgeBase, recipe: Recipe, method: Literal["pca", "umap"]) -> None:
    """What to do while there is no map: draw it, or wait for the job that does."""
    if base.maps.drawing(recipe.index, method) is not None:
        _wait(base, recipe, method)
        return
    st.markdown("The map shows all passages by likeness, with the question among them.")
    _redraw(base, recipe, method, "It is drawn once, in the background, and kept.")


def _redraw(base: KnowledgeBase, recipe: Recipe, method: Literal["pca", "umap"], why: str) -> None:
    if base.maps.drawing(recipe.index, method) is not None:
        _wait(base, recipe, method)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        if st.button("Draw the map", key="inspector_map_draw", icon=":material/scatter_plot:"):
            with guard():
                base.maps.draw(recipe.index, method)
                st.rerun()
        st.caption(why)


@st.fragment(run_every=job_progress.POLL_SECONDS)
def _wait(base: KnowledgeBase, recipe: Recipe, method: Literal["pca", "umap"]) -> None:
    job = base.maps.drawing(recipe.index, method)
    if job is None:
        st.rerun()
    job_progress.card(job, "map")


@st.cache_data(max_entries=KEPT, show_spinner=False)
def _where(
    _base: KnowledgeBase,
    _recipe: Recipe,
    _shown: PassageMap,
    question: str,
    place: tuple[object, ...],
) -> Placed:
    return _base.maps.place(_recipe.index, _shown, question)


def _placed(
    base: KnowledgeBase, recipe: Recipe, shown: PassageMap, question: str, method: str
) -> Placed:
    home = str(workspace().settings.home)
    place = (home, base.id, base.version(), recipe.index.hash, method, len(shown.keys))
    return _where(base, recipe, shown, question, (*place, float(shown.points.sum())))


def takeaway(shown: PassageMap, placed: Placed) -> str:
    """The map in a sentence: whom the question stands among, and whether that is the truth."""
    count = min(NEAREST, len(shown.keys))
    apart = ((shown.points - placed.point) ** 2).sum(axis=1)
    around = np.argsort(apart, kind="stable")[:count]
    true = np.argsort(-placed.cosines, kind="stable")[:count]
    names = Counter(shown.names[number] for number in shown.document[around])
    most = [f"{plain(name)} ({number})" for name, number in names.most_common(2) if number > 1]
    listed = ", ".join(most) or f"{len(names)} documents without a pattern"
    both = len(set(around.tolist()) & set(true.tolist()))
    return (
        f"The question lies among {listed}. Of the {count} nearest points, {both} are also among "
        f"the {count} most similar passages."
    )


def note(shown: PassageMap) -> str:
    """How far the map can be trusted."""
    if shown.method == "umap":
        return (
            "UMAP keeps neighbours together; distances between groups mean little, and the "
            "question stands among its five most similar passages."
        )
    return (
        f"{shown.explained:.0%} of the variance is shown: what is near here may be far apart "
        "in the other dimensions."
    )


def _follow(event: Any, keys: list[np.ndarray], select: Select) -> None:
    """Selects the passage of the point that was clicked, once for each click."""
    points = event.selection.points if event else []
    key = _key(points[0], keys) if points else None
    if key == st.session_state.get(CLICKED):
        return
    st.session_state[CLICKED] = key
    if key is not None:
        select(f"{key:016x}")
        st.rerun()


def _key(point: Mapping[str, Any], keys: list[np.ndarray]) -> int | None:
    curve, place = int(point["curve_number"]), int(point["point_index"])
    if curve < len(keys) and place < len(keys[curve]):
        return int(keys[curve][place])
    return None
