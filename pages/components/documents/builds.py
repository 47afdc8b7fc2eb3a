"""The indexes of a knowledge base: the one that answers, others, and a form for a new one."""

from __future__ import annotations

import streamlit as st

from pages.components.recipe.index_builds import (
    being_built,
    build_button,
    unread_passages,
    use_button,
)
from pages.components.recipe.index_form import index_form
from pages.components.shell.buttons import confirm_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.tables import picked_rows
from pages.components.shell.text import plain
from pages.components.shell.wording import CONTEXT_HELP, CONTEXTS, chunking, cut, token_note
from rag import BuildRow, IndexRecipe, KnowledgeBase, TouchstoneError, counted

_MOST_OFFERED = 3
_STATE_WIDTH = 110
_CHUNKING_WIDTH = 220  # what a phone shows beside the state


def folded_builds(base: KnowledgeBase) -> None:
    """Draw the indexes once they are unfolded."""
    folded = st.expander(
        "Indexes", icon=":material/dns:", key="documents_builds", on_change="rerun"
    )
    if folded.open:
        with folded:
            st.caption(
                "An index holds all documents, chunked and embedded in one way. You can keep "
                "several; the one in use answers."
            )
            builds_view(base)


def builds_view(base: KnowledgeBase) -> None:
    """Draw the indexes as a table, those that could answer, and actions on the picked one."""
    builds, active = base.documents.builds(), base.recipe().index
    missing = {build.hash: base.documents.missing(build.recipe) for build in builds}
    event = st.dataframe(
        [_row(base, build, active, missing[build.hash]) for build in builds],
        key=f"documents_builds_{base.id}",
        hide_index=True,
        on_select="rerun",
        selection_mode=("single-row", "single-cell"),
        column_config={
            "State": st.column_config.TextColumn(
                width=_STATE_WIDTH,
                help="Missing: documents without passages or vectors in this index.",
            ),
            "Chunking": st.column_config.TextColumn(width=_CHUNKING_WIDTH),
            "Context": st.column_config.TextColumn(help=CONTEXT_HELP),
            "Passages": st.column_config.NumberColumn(format="localized"),
        },
        alt="Indexes with chunking, embedding model, documents, passages and state.",
    )
    complete = [build for build in builds if not missing[build.hash]]
    if note := token_note((build.recipe, build.passages) for build in complete):
        st.caption(note)
    if unread := unread_passages(base, (build.recipe for build in complete)):
        st.caption(unread)
    picked = [builds[row] for row in picked_rows(event) if row < len(builds)]
    if picked:
        _actions(base, picked[0], active, missing[picked[0].hash])
    _note_vectors(base, active)
    ready = [build for build in complete if build.hash != active.hash]
    for build in sorted(ready, key=lambda build: build.created, reverse=True)[:_MOST_OFFERED]:
        use_button(base, build)
    more = st.expander(
        "New index", icon=":material/add:", key="documents_build_more", on_change="rerun"
    )
    if more.open:
        with more, guard():
            _another(base, active)


def _row(
    base: KnowledgeBase, build: BuildRow, active: IndexRecipe, missing: int
) -> dict[str, object]:
    state = f"{missing:,} missing" if missing else "ready"
    if missing and being_built(base, build.recipe):
        state = "being built"
    return {
        "State": "answers now" if build.hash == active.hash and not missing else state,
        "Chunking": chunking(build.recipe),
        "Context": CONTEXTS[build.recipe.context],
        "Embedding model": build.recipe.embedder,
        "Analyzer": build.recipe.analyzer,
        "Vector index": _vectors(base, build.recipe),
        "Documents": build.documents,
        "Passages": build.passages,
        "Id": build.hash[:6],
    }


def _vectors(base: KnowledgeBase, recipe: IndexRecipe) -> str:
    """The kind of index; of an embedder that is not there, as the recipe says."""
    try:
        kind: str = base.documents.vector_index(recipe).kind
    except TouchstoneError:
        return recipe.vector_index
    return kind if kind == recipe.vector_index else f"{kind} ({recipe.vector_index})"


def _note_vectors(base: KnowledgeBase, active: IndexRecipe) -> None:
    """Draw the kind of vector index of the active build, if the size of the build decides it."""
    with guard():
        choice = base.documents.vector_index(active)
        if choice.limit is not None:
            st.caption(choice.headline, help=choice.details)


def _actions(base: KnowledgeBase, build: BuildRow, active: IndexRecipe, missing: int) -> None:
    answers = build.hash == active.hash
    with st.container(horizontal=True):
        if missing:
            build_button(base, build.recipe, "documents_build_rest", "Build the rest")
        icon, path = ":material/delete:", "documents.delete_build"
        options = offered(base, path, key="documents_build_drop", icon=icon)
        if not answers and st.button("Delete", **options):
            _confirm_delete(base, build)
        if answers and not missing:
            st.caption("Answers use this index, so you cannot delete it.")


@st.dialog("Delete this index?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase, build: BuildRow) -> None:
    st.markdown(f"**{plain(cut(build.recipe))}**, {plain(build.recipe.embedder)}")
    st.markdown(
        f"This deletes {counted(build.passages, 'passage')} and their vectors, unless another "
        "index shares them. Documents, labels and runs stay. You can build the index again."
    )
    delete = base.documents.delete_build
    confirm_button("Delete", "documents_build_drop_really", delete, build.hash)


def _another(base: KnowledgeBase, active: IndexRecipe) -> None:
    build_button(base, index_form(active, "documents_another"), "documents_build_another")
