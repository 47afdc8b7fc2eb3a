"""The map of a build on any page: its kind, having it drawn, and how far it can be trusted."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from pages.components.shell import job_progress
from pages.components.shell.buttons import switch
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from rag import IndexRecipe, KnowledgeBase, PassageMap, percent

METHODS = {"pca": "PCA", "umap": "UMAP"}

Method = Literal["pca", "umap"]


def map_method(base: KnowledgeBase) -> Method:
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


def redraw_map(base: KnowledgeBase, index: IndexRecipe, method: Method, why: str) -> None:
    """Draw a button that has the map drawn, or the job that draws it."""
    if base.maps.drawing(index, method) is not None:
        _wait(base, index, method)
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        icon = ":material/scatter_plot:"
        options = offered(base, "maps.draw", key="draw_map", icon=icon)
        if st.button("Draw the map", **options):
            with guard():
                base.maps.draw(index, method)
                st.rerun()
        st.caption(why)


@st.fragment(run_every=job_progress.POLL_SECONDS)
def _wait(base: KnowledgeBase, index: IndexRecipe, method: Method) -> None:
    job = base.maps.drawing(index, method)
    if job is None:
        st.rerun()
    job_progress.card(job, "map")


def note(drawn_map: PassageMap) -> str:
    """Return a note on the accuracy of the map."""
    if drawn_map.method == "umap":
        return (
            "UMAP keeps neighbours together; distances between groups mean little, and the "
            "question is drawn among its five nearest passages."
        )
    return (
        f"{percent(drawn_map.explained)} of the variance is shown: what is near here may be far "
        "apart in the other dimensions."
    )
