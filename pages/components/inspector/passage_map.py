"""The map of all passages, with the question and what it found drawn in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

import numpy as np
import streamlit as st

from pages.components.inspector.map_figure import Colouring, Drawing, figure
from pages.components.shell import job_progress
from pages.components.shell.buttons import switch
from pages.components.shell.charts import clicked_point, draw_chart
from pages.components.shell.guard import guard
from pages.components.shell.palette import palette
from pages.components.shell.permission import offered
from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from rag import Hit, IndexRecipe, KnowledgeBase, PassageMap, Placed, Recipe, Trace, counted

COLOURS = ("Document", "Label", "Cosine")
METHODS = {"pca": "PCA", "umap": "UMAP"}
NEAREST = 10
CHART = "inspector_map"
CLICKED = "inspector_map_clicked"
KEPT = 8

Select = Callable[[str], None]
Method = Literal["pca", "umap"]


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
    """Draws the map; a click on a point calls ``select`` with its passage's id.

    ``grades`` are the labels of this question by passage key.
    """
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        method = _method(base)
        current_map = base.maps.current(recipe.index, method)
        colouring = (
            COLOURS[0] if current_map is None else switch("Colour by", COLOURS, "map_colour")
        )
    if current_map is None or not len(current_map.keys):
        if base.maps.drawing(recipe.index, method) is None:
            st.markdown("The map shows all passages by likeness, with the question among them.")
        _redraw(base, recipe, method, "It is drawn once, in the background, and kept.")
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
    st.caption(f"{summary} {note(current_map)}".strip())
    if current_map.outdated:
        _redraw(base, recipe, method, f"{current_map.changed:.0%} of the passages changed since.")
    _follow(keys, select)


def _method(base: KnowledgeBase) -> Method:
    """The chosen kind of map; no switch where there is only one."""
    if len(base.maps.methods) == 1:
        return "pca"
    explained = (
        "PCA shows true distances in the two directions with most variance. UMAP keeps "
        "neighbours together; distances between groups mean little."
    )
    options = {"default": "pca", "format_func": METHODS.__getitem__, "help": explained}
    chosen = switch("Kind of map", list(base.maps.methods), "map_method", **options)
    return "umap" if chosen == "umap" else "pca"


def _redraw(base: KnowledgeBase, recipe: Recipe, method: Method, why: str) -> None:
    """A button that has the map drawn, or the job that does it."""
    if base.maps.drawing(recipe.index, method) is not None:
        _wait(base, recipe, method)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        icon = ":material/scatter_plot:"
        options = offered(base, "maps.draw", key="inspector_map_draw", icon=icon)
        if st.button("Draw the map", **options):
            with guard():
                base.maps.draw(recipe.index, method)
                st.rerun()
        st.caption(why)


@st.fragment(run_every=job_progress.POLL_SECONDS)
def _wait(base: KnowledgeBase, recipe: Recipe, method: Method) -> None:
    job = base.maps.drawing(recipe.index, method)
    if job is None:
        st.rerun()
    job_progress.card(job, "map")


@cache_data(KEPT)
def _placed(
    base: KnowledgeBase, index: IndexRecipe, _shown: PassageMap, question: str, state: object
) -> Placed:
    """Return the place of the question on the map, whose version ``state`` identifies."""
    return base.maps.place(index, _shown, question)


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


def note(drawn_map: PassageMap) -> str:
    """Return a note on the accuracy of the map."""
    if drawn_map.method == "umap":
        return (
            "UMAP keeps neighbours together; distances between groups mean little, and the "
            "question stands among its five nearest passages."
        )
    return (
        f"{drawn_map.explained:.0%} of the variance is shown: what is near here may be far apart "
        "in the other dimensions."
    )


def _follow(keys: list[np.ndarray], select: Select) -> None:
    """Selects the passage of the point that was clicked, once for each click."""
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
