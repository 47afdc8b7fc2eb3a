"""Index builds: which there are, which one answers, what another one costs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.recipe.index_fields import embedders
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button, confirm_button
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.session import cache_data, workspace
from pages.components.shell.text import plain
from pages.components.shell.wording import cut, duration
from rag import BuildRow, IndexRecipe, JobRow, KnowledgeBase, TouchstoneError, counted

VECTOR_INDEXES: list[str] = IndexRecipe.model_json_schema()["properties"]["vector_index"]["enum"]
_COUNTED = 1_000_000  # characters that are really cut for an estimate; the rest is in proportion
_LEAST_PASSAGES = 20  # a rate measured over fewer says nothing


def builds_view(base: KnowledgeBase) -> None:
    """The builds as a table, and what can be done with the one that is picked."""
    st.header("Index builds", divider="gray")
    st.caption(
        "Documents are cut and embedded once for every index recipe. Several builds can exist "
        "side by side; one of them answers."
    )
    builds, active = base.documents.builds(), base.recipe().index
    event = st.dataframe(
        [_row(base, build, active) for build in builds],
        key=f"documents_builds_{base.id}",
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        column_config={
            "State": st.column_config.TextColumn(
                help="Missing: documents that it lacks, or lacks vectors of."
            ),
            "Cut": st.column_config.TextColumn(width="medium"),
            "Passages": st.column_config.NumberColumn(format="localized"),
        },
        alt="Index builds with cut, embedder, documents, passages and state.",
    )
    picked = [builds[row] for row in event.selection.rows if row < len(builds)]
    _note_vectors(base, active)
    if picked:
        _actions(base, picked[0], active)
    with st.expander("Build another index", icon=":material/add:", key="documents_build_more"):
        _another(base, active)


def _row(base: KnowledgeBase, build: BuildRow, active: IndexRecipe) -> dict[str, object]:
    missing = base.documents.missing(build.recipe)
    state = f"{missing:,} missing" if missing else "ready"
    if missing and _being_built(base, build.recipe):
        state = "being built"
    return {
        "State": "answers now" if build.hash == active.hash and not missing else state,
        "Cut": cut(build.recipe),
        "Embedder": build.recipe.embedder,
        "Words": build.recipe.analyzer,
        "Vectors": _vectors(base, build.recipe),
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


def _actions(base: KnowledgeBase, build: BuildRow, active: IndexRecipe) -> None:
    answers = build.hash == active.hash
    missing = base.documents.missing(build.recipe)
    with st.container(horizontal=True):
        if missing:
            build_button(base, build.recipe, "documents_build_rest", "Build the rest")
        elif not answers:
            label, key = "Answer with this build", "documents_build_use"
            use = partial(_use, base, build.recipe)
            explained = "Saves it as the index part of the recipe."
            options = offered(base, "save_recipe", help=explained)
            action_button(label, key, "check_circle", use, **options)
        icon, path = ":material/delete:", "documents.delete_build"
        options = offered(base, path, key="documents_build_drop", icon=icon)
        if not answers and st.button("Delete", **options):
            _confirm_delete(base, build)
        if answers and not missing:
            st.caption("This index answers the questions now, so it cannot be deleted.")


def _use(base: KnowledgeBase, recipe: IndexRecipe) -> None:
    """Saves a recipe with that index; other changes that are not saved stay as they are."""
    working = working_recipe.working(base).model_copy(update={"index": recipe})
    working_recipe.save_index(base, recipe)
    working_recipe.replace(base, working)
    st.toast("Questions are answered with this build now.", icon=":material/check:")


@st.dialog("Delete this build?", icon=":material/delete:")
def _confirm_delete(base: KnowledgeBase, build: BuildRow) -> None:
    st.markdown(f"**{plain(cut(build.recipe))}**, {plain(build.recipe.embedder)}")
    st.markdown(
        f"{counted(build.passages, 'passage')} with their vectors go, unless another build "
        "shares them. Documents, labels and runs stay; it can be built again."
    )
    delete = base.documents.delete_build
    confirm_button("Delete", "documents_build_drop_really", delete, build.hash)


def _another(base: KnowledgeBase, active: IndexRecipe) -> None:
    st.caption("The cut is set with the sliders of a document's preview; choose the rest here.")
    left, right = st.columns(2)
    embedder = left.selectbox(
        "Embedder",
        embedders(active),
        key="documents_embedder",
        help="A name, or PROVIDER:MODEL.",
        accept_new_options=True,
    )
    vectors = right.selectbox(
        "Vector index",
        VECTOR_INDEXES,
        key="documents_vector_index",
        help="Flat is exact. HNSW and IVF are approximate, for very many passages. "
        "Auto is flat while that is quick, and HNSW beyond.",
    )
    changes = {"embedder": embedder or active.embedder, "vector_index": vectors}
    recipe = IndexRecipe.model_validate(active.model_dump() | _cut_in_preview() | changes)
    if recipe.hash in {build.hash for build in base.documents.builds()}:
        st.caption("This build exists. Change the embedder, the vector index or the cut.")
    else:
        st.caption(f"Cut: {cut(recipe)}.")
        build_button(base, recipe, "documents_build_another")


def _cut_in_preview() -> dict[str, object]:
    """The cut that the preview's sliders show, where there are any."""
    widgets = {"chunker": "chunker", "chunk_size": "size", "chunk_overlap": "overlap"}
    widgets |= {"context": "context", "breakpoint_percentile": "percentile"}
    return {
        field: st.session_state[f"documents_{widget}"]
        for field, widget in widgets.items()
        if f"documents_{widget}" in st.session_state
    }


def build_button(
    base: KnowledgeBase, recipe: IndexRecipe, key: str, label: str = "Build this index"
) -> None:
    """Queues a build, and says before what it costs."""
    with guard(), st.container(horizontal=True, vertical_alignment="center"):
        building = _being_built(base, recipe)
        build = partial(base.documents.build, recipe)
        options = offered(base, "documents.build", disabled=building)
        action_button(label, key, "construction", build, **options)
        st.caption("It is being built." if building else cost_of(base, [recipe]))


def _being_built(base: KnowledgeBase, recipe: IndexRecipe) -> bool:
    return any(
        job.kind == "build" and IndexRecipe.model_validate(job.payload["recipe"]) == recipe
        for job in job_progress.active(base.id)
    )


def cost_of(base: KnowledgeBase, recipes: Sequence[IndexRecipe]) -> str:
    """``Builds 1,240 passages, about 40 s.``, as far as it is known; one after the other."""
    sizes = [_passages(base, recipe) for recipe in recipes]
    exact = all(counted_all for _, counted_all in sizes)
    total = counted(sum(size for size, _ in sizes), "passage")
    words = f"Builds {total}" if exact else f"Builds about {total}"
    rates = {recipe.embedder: _rate(base, recipe.embedder) for recipe in recipes}
    unknown = [name for name, rate in rates.items() if rate is None]
    if unknown:
        return f"{words}. How long {' and '.join(unknown)} takes is not known yet."
    seconds = sum(
        size / (rates[recipe.embedder] or 1.0)
        for recipe, (size, _) in zip(recipes, sizes, strict=True)
    )
    return f"{words}, about {duration(seconds)}."


def _passages(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, bool]:
    """The number of passages of a build, and whether that number is exact."""
    builds = [build for build in base.documents.builds() if build.recipe.cut == recipe.cut]
    if builds and not base.documents.missing(builds[0].recipe):
        return builds[0].passages, True
    return expected_passages(base, recipe)


@cache_data(64, show_spinner="Counting passages …")
def expected_passages(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, bool]:
    """The number of passages that a recipe cuts all documents into, and whether it is exact.

    Past the first million characters, and for the semantic chunker, the number is an estimate.
    """
    library, exact = base.documents, recipe.chunker != "semantic"
    if not exact:  # it would embed every sentence, only to count
        recipe = recipe.model_copy(update={"chunker": "recursive"})
    infos = library.documents(recipe)
    total, seen, passages = sum(info.characters for info in infos), 0, 0
    for info in infos:
        if seen >= _COUNTED:
            return round(passages * total / seen), False
        passages += sum(1 for _ in library.preview(library.document(info.id), recipe))
        seen += info.characters
    return passages, exact


def _rate(base: KnowledgeBase, embedder: str) -> float | None:
    """Passages in a second with an embedder, from the jobs that were done with it."""
    jobs = [job for job in workspace().jobs.recent(base.id) if job.status == "done"]
    rates = [_rate_of(base, job, embedder) for job in jobs]
    return max((rate for rate in rates if rate is not None), default=None)


def _rate_of(base: KnowledgeBase, job: JobRow, embedder: str) -> float | None:
    if job.finished is None or job.kind not in ("ingest", "build"):
        return None
    if job.kind == "ingest":
        used = base.recipe().index.embedder
        passages = sum(item.chunks for item in workspace().jobs.items(job.id))
    else:
        built = IndexRecipe.model_validate(job.payload["recipe"])
        used = built.embedder
        passages = sum(row.passages for row in base.documents.builds() if row.recipe == built)
    seconds = (job.finished - job.created).total_seconds()
    return passages / seconds if used == embedder and passages >= _LEAST_PASSAGES else None
