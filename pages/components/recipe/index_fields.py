"""The part of the recipe that needs an index of its own: choose a build, or make one."""

from __future__ import annotations

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.guard import guard
from pages.components.shell.permission import allowed
from pages.components.shell.session import show, workspace
from pages.components.shell.wording import CONTEXT_HELP, CONTEXTS, chunker_name, cut
from rag import BuildRow, IndexRecipe, KnowledgeBase, Recipe, counted, with_embedder_weight

CHUNKERS = ["markdown", "recursive", "fixed", "sentence", "page", "semantic", "whole"]


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
        help="Another cut or embedding model needs an index of its own.",
    )
    waiting = len(builds) - len(whole)
    if waiting:
        one = waiting == 1
        st.caption(
            f"{waiting:,} {'index is' if one else 'indexes are'} not complete yet; to be chosen "
            f"once {'it is' if one else 'they are'} built."
        )
    with guard():
        choice = base.documents.vector_index(recipe.index)
        if choice.limit is not None and choice.kind != "flat":
            st.caption(choice.headline, help=choice.details)
    with st.popover("New index", icon=":material/add:", width="stretch", key="recipe_new_index"):
        if allowed(base, "documents.build"):
            _new_index(base, recipe, builds.get(now))


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


def _new_index(base: KnowledgeBase, recipe: Recipe, present: BuildRow | None) -> None:
    documents, passages = (present.documents, present.passages) if present else (0, 0)
    now = recipe.index
    with st.form("recipe_index_form", border=False):
        chunker = st.selectbox(
            "Cut", CHUNKERS, index=CHUNKERS.index(now.chunker), format_func=chunker_name
        )
        size = st.number_input("Passage size, tokens", 8, 8192, now.chunk_size, step=50)
        overlap = st.number_input("Overlap, tokens", 0, 4096, now.chunk_overlap, step=10)
        embedder = st.selectbox("Embedding model", embedders(now))
        names = list(CONTEXTS)
        context = st.selectbox(
            "Indexed with",
            names,
            index=names.index(now.context),
            format_func=CONTEXTS.get,
            help=CONTEXT_HELP,
        )
        st.caption(
            f"Cuts and embeds {counted(documents, 'document')} again "
            f"({counted(passages, 'passage')} now), in the background. The present index stays."
        )
        if st.form_submit_button("Build", icon=":material/construction:"):
            cut_by = {"chunker": chunker, "chunk_size": size, "chunk_overlap": overlap}
            unit = "auto" if now.unit == "characters" else now.chunk_unit
            proposal = cut_by | {"embedder": embedder, "chunk_unit": unit, "context": context}
            with guard():
                fields = {f"index.{name}": value for name, value in proposal.items()}
                base.documents.build(recipe.with_fields(fields).index)
                st.toast("Building. The new index can be chosen here once it is done.")


def embedders(present: IndexRecipe) -> list[str]:
    """The embedding models that can be used now, that of the present index first."""
    return list(dict.fromkeys([present.embedder, *workspace().embedders()]))
