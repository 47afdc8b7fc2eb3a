"""A recipe for another engine: what is not the same there, and the file."""

from __future__ import annotations

import streamlit as st

from pages.components.shell.buttons import download_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import allowed
from pages.components.shell.run_cache import cached_per_run
from pages.components.shell.text import plain
from rag import EXPORT_TARGETS, KnowledgeBase, Recipe, RecipeExport

_NAMES = {
    "qdrant": "Qdrant",
    "pgvector": "PostgreSQL with pgvector",
    "elasticsearch": "Elasticsearch",
    "opensearch": "OpenSearch",
    "langchain": "LangChain (Python)",
    "llama_index": "LlamaIndex (Python)",
}


def recipe_export(base: KnowledgeBase, recipe: Recipe) -> None:
    """Draw the choice of an engine; the export is written when the reader opens it."""
    opened = st.expander(
        "For another engine", icon=":material/ios_share:", key="recipe_export", on_change="rerun"
    )
    if opened.open:
        with opened, guard():
            _exported(base, recipe)


def _exported(base: KnowledgeBase, recipe: Recipe) -> None:
    if not allowed(base, "recipe_exports.export"):
        return
    target = st.selectbox(
        "Engine", list(EXPORT_TARGETS), format_func=_NAMES.__getitem__, key="recipe_export_target"
    )
    export = cached_per_run(
        ("recipe export", base.id, recipe.hash, target),
        lambda: base.recipe_exports.export(recipe, target),
    )
    exact, total = export.count("exact"), len(export.fields)
    st.caption(f"{exact} of {total} fields give the same results there. The others:")
    with st.container(height=200):
        st.markdown("\n".join(_inexact(export)))
    download_button("Download", export.text, export.file_name, "recipe_export_file")


def _inexact(export: RecipeExport) -> list[str]:
    return [
        f"- {plain(field.name)}, {field.fidelity}: {plain(field.reason)}"
        for field in export.fields
        if field.fidelity != "exact"
    ]
