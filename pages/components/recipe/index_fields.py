"""The part of the recipe that needs an index of its own: choose a build, or make one."""

from __future__ import annotations

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.index_builds import build_button
from pages.components.recipe.index_form import index_form
from pages.components.shell.guard import guard
from pages.components.shell.permission import allowed
from pages.components.shell.session import show, workspace
from pages.components.shell.wording import cut
from rag import BuildRow, IndexRecipe, KnowledgeBase, Recipe, counted, with_embedder_weight


def index_panel(base: KnowledgeBase, recipe: Recipe) -> None:
    """Draws the builds that can be searched, and the way to another one."""
    builds = {build.hash: build for build in base.documents.builds()}
    whole = [key for key, build in builds.items() if not base.documents.missing(build.recipe)]
    others = {key: recipe.model_copy(update={"index": builds[key].recipe}) for key in whole}
    ready = [key for key, other in others.items() if not workspace().costs(base, other)]
    now = recipe.index.hash
    names = list(dict.fromkeys([*ready, now]))
    show("recipe_index", now)
    st.selectbox(
        "Index",
        names,
        format_func=lambda key: _label(builds.get(key), recipe.index),
        key="recipe_index",
        on_change=_choose,
        args=(base, {key: build.recipe for key, build in builds.items()}),
        help="Other chunking or another embedding model needs an index of its own.",
    )
    waiting = len(builds) - len(whole)
    if waiting:
        one = waiting == 1
        st.caption(
            f"{waiting:,} {'index is' if one else 'indexes are'} not complete. You can choose "
            f"{'it' if one else 'them'} here after the build."
        )
    with guard():
        choice = base.documents.vector_index(recipe.index)
        if choice.limit is not None and choice.kind != "flat":
            st.caption(choice.headline, help=choice.details)
    new = st.popover(
        "New index",
        icon=":material/add:",
        width="stretch",
        key="recipe_new_index",
        on_change="rerun",
    )
    if new.open:
        with new, guard():
            if allowed(base, "documents.build"):
                proposal = index_form(recipe.index, "recipe_index_new")
                build_button(base, proposal, "recipe_index_build")


def _label(build: BuildRow | None, present: IndexRecipe) -> str:
    recipe = build.recipe if build else present
    size = f", {counted(build.passages, 'passage')}" if build else ""
    return f"{cut(recipe)}, {recipe.embedder}{size}"


def _choose(base: KnowledgeBase, recipes: dict[str, IndexRecipe]) -> None:
    chosen = recipes.get(st.session_state["recipe_index"])
    if chosen is not None:
        recipe = working_recipe.working(base)
        other = recipe.model_copy(update={"index": chosen})
        working_recipe.replace(base, with_embedder_weight(recipe, other))
