"""Indexes: the form that describes one, its build and cost, and the table of all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell import job_progress
from pages.components.shell.buttons import action_button, confirm_button, dialog
from pages.components.shell.guard import guard
from pages.components.shell.session import cache_data, offered, workspace
from pages.components.shell.tables import picked_rows
from pages.components.shell.text import (
    CONTEXT_HELP,
    CONTEXTS,
    chunking,
    cut,
    duration,
    plain,
    token_note,
)
from rag import (
    CAPTIONS,
    Amount,
    BuildRow,
    IndexRecipe,
    KnowledgeBase,
    TouchstoneError,
    chunker_name,
    counted,
    tokens_read,
)

_SCHEMA = IndexRecipe.model_json_schema()["properties"]
CHUNKERS: list[str] = _SCHEMA["chunker"]["enum"]
VECTOR_INDEXES: list[str] = _SCHEMA["vector_index"]["enum"]
CHUNKER, SIZE, OVERLAP, CONTEXT, EMBEDDER, VECTOR_INDEX, _PERCENTILE = (
    CAPTIONS[f"index.{name}"]
    for name in (
        *("chunker", "chunk_size", "chunk_overlap", "context", "embedder", "vector_index"),
        "breakpoint_percentile",
    )
)
_FIELDS = ("chunker", "size", "overlap", "context", "embedder", "vector_index")
_SMALLEST = {"tokens": 16, "characters": 50}
_LARGEST = {"tokens": 1024, "characters": 6000}
_CHARACTERS = 4  # of a token, in English
_PERCENTILE_HELP = (
    "Splits between neighboring sentences that are less alike than this share of all neighbors in "
    "the document: a higher value splits less. Embeds every sentence."
)
_SIZE_HELP = "The longest passage that the chunker makes."
_OVERLAP_HELP = "The text that neighboring passages share. It takes space and repeats itself."
_EMBEDDER_HELP = "Computes the vectors. Type PROVIDER:MODEL for a model that is not listed."
_VECTORS_HELP = (
    "Flat is exact. HNSW and IVF are approximate, for millions of passages. Auto is flat while "
    "that is quick, and HNSW beyond."
)


def index_form(present: IndexRecipe, form: str) -> IndexRecipe:
    """Draw the fields of an index, which begin with those of ``present``; return their values.

    ``form`` is the prefix of the keys: several forms can be on one page.
    """
    names = {field: f"{form}_{field}" for field in (*_FIELDS, "percentile", "origin")}
    state = st.session_state
    if state.get(names["origin"]) != present.hash or names["size"] not in state:
        reset_index_form(present, form)
    chunker = st.selectbox(CHUNKER, CHUNKERS, key=names["chunker"], format_func=chunker_name)
    percentile, unit = present.breakpoint_percentile, present.unit
    if chunker == "semantic":
        state.setdefault(names["percentile"], min(max(percentile, 50.0), 99.0))
        percentile = st.slider(
            _PERCENTILE, 50.0, 99.0, key=names["percentile"], help=_PERCENTILE_HELP
        )
    size = st.slider(
        f"{SIZE} ({unit})",
        _SMALLEST[unit],
        max(_LARGEST[unit], present.chunk_size),
        key=names["size"],
        disabled=chunker == "whole",
        help=_SIZE_HELP,
    )
    state[names["overlap"]] = min(state[names["overlap"]], size // 2)
    overlap = st.slider(
        f"{OVERLAP} ({unit})",
        0,
        size // 2,
        key=names["overlap"],
        disabled=chunker == "whole",
        help=_OVERLAP_HELP,
    )
    context = st.selectbox(
        CONTEXT, CONTEXTS, key=names["context"], format_func=CONTEXTS.get, help=CONTEXT_HELP
    )
    embedder = st.selectbox(
        EMBEDDER,
        embedders(present),
        key=names["embedder"],
        help=_EMBEDDER_HELP,
        accept_new_options=True,
    )
    vectors = st.selectbox(
        VECTOR_INDEX, VECTOR_INDEXES, key=names["vector_index"], help=_VECTORS_HELP
    )
    changes = {"chunker": chunker, "chunk_size": size, "chunk_overlap": overlap}
    changes |= {"breakpoint_percentile": percentile, "context": context}
    changes |= {"embedder": embedder or present.embedder, "vector_index": vectors}
    proposed = IndexRecipe.model_validate(present.model_dump() | changes)
    if note := unread_note([proposed]):
        st.caption(note)
    return proposed


def reset_index_form(present: IndexRecipe, form: str) -> None:
    """Set the fields of a form to those of an index."""
    size = max(present.chunk_size, _SMALLEST[present.unit])
    values = {
        "origin": present.hash,
        "chunker": present.chunker,
        "size": size,
        "overlap": min(present.chunk_overlap, size // 2),
        "context": present.context,
        "embedder": present.embedder,
        "vector_index": present.vector_index,
    }
    st.session_state.update({f"{form}_{field}": value for field, value in values.items()})
    st.session_state.pop(f"{form}_percentile", None)


def unread_note(recipes: Iterable[IndexRecipe]) -> str:
    """Say which embedders do not read the whole of passages as long as indexes allow; "" if all do.

    As Markdown.
    """
    limits = {recipe.embedder: limit for recipe in recipes if (limit := unread_from(recipe))}
    sentences = [
        f"{plain(embedder)} reads {limit:,} tokens of a passage and its context: only "
        "lexical search finds what is behind them."
        for embedder, limit in limits.items()
    ]
    return f":material/content_cut: {' '.join(sentences)}" if sentences else ""


def unread_from(recipe: IndexRecipe) -> int:
    """Return the tokens that the embedder reads if passages of an index may have more; else 0."""
    try:
        limit = tokens_read(recipe.embedder)
    except TouchstoneError:
        return 0  # a name that is being typed
    size = recipe.chunk_size / (_CHARACTERS if recipe.unit == "characters" else 1)
    return limit if recipe.chunker == "whole" or size > limit else 0


def embedders(present: IndexRecipe) -> list[str]:
    """Return the embedding models that can be used now, that of the present index first."""
    return list(dict.fromkeys([present.embedder, *workspace().embedders()]))


_COUNTED = 1_000_000  # characters that are really chunked for an estimate; the rest in proportion


def use_button(base: KnowledgeBase, build: BuildRow) -> None:
    """Draw a complete build that does not answer yet, with buttons to try it and to save it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        key = f"index_try_{build.hash[:6]}"
        explained = working_recipe.UNTIL_SAVED
        action_button("Try this index", key, "check", _try, base, build.recipe, help=explained)
        explained = (
            "Saves the recipe with this index: it answers from now on, and later verdicts compare "
            "with it."
        )
        options = offered(base, "recipes.save", help=explained)
        key = f"index_use_{build.hash[:6]}"
        action_button("Save for answers", key, "save", _use, base, build.recipe, **options)
        st.caption(
            f"This index is ready: {cut(build.recipe)}, {build.recipe.embedder}, "
            f"{counted(build.passages, 'passage')}."
        )


def _try(base: KnowledgeBase, recipe: IndexRecipe) -> None:
    """Make this the index of the working recipe."""
    working_recipe.use_index(base, recipe)
    st.toast(
        "All pages use this index for you. To save it, open *Recipe* in the sidebar.",
        icon=":material/check:",
    )


def _use(base: KnowledgeBase, recipe: IndexRecipe) -> None:
    """Save the recipe with this index; unsaved changes to other fields stay as they are."""
    working = working_recipe.with_index(working_recipe.working(base), recipe)
    working_recipe.save_index(base, recipe)
    working_recipe.replace(base, working)
    st.toast("Saved in the recipe: answers use this index now.", icon=":material/check:")


def build_button(
    base: KnowledgeBase, recipe: IndexRecipe, key: str, label: str = "Build index"
) -> None:
    """Draw the button that starts a build, with its cost; what is built is not offered again."""
    with guard(), st.container(horizontal=True, vertical_alignment="center"):
        built = {build.hash: build for build in base.documents.builds()}.get(recipe.hash)
        if built is not None and not base.documents.missing(recipe):
            st.caption("This index exists.")
            return
        building = being_built(base, recipe)
        build = partial(base.documents.build, recipe)
        options = offered(base, "documents.build", disabled=building)
        action_button(label, key, "construction", build, **options)
        st.caption("Building this index." if building else cost_of(base, [recipe]))
        if note := unread_passages(base, [recipe]):
            st.caption(note)


def being_built(base: KnowledgeBase, recipe: IndexRecipe) -> bool:
    """Return whether a job builds this index now."""
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
    text = [Amount(0.0, _characters(base, recipes[0]))]
    seconds = {
        recipe.embedder: base.documents.seconds_to_add(text, recipe.embedder) for recipe in recipes
    }
    unknown = [name for name, estimate in seconds.items() if estimate is None]
    if unknown:
        return f"{words}. How long {' and '.join(unknown)} takes is not known yet."
    total_seconds = sum(seconds[recipe.embedder] or 0.0 for recipe in recipes)
    return f"{words}, about {duration(total_seconds)}."


def unread_passages(base: KnowledgeBase, recipes: Iterable[IndexRecipe]) -> str:
    """Say how many passages of indexes are longer than their embedder reads; "" if none is.

    As Markdown.
    """
    parts = []
    for recipe in recipes:
        longer, seen = _unread(base, recipe) if _countable(recipe) else (0, 0)
        if longer:
            parts.append(
                f"{longer:,} of {counted(seen, 'passage')} of {plain(recipe.embedder)}, "
                f"{plain(cut(recipe))}"
            )
    if not parts:
        return ""
    return (
        f":material/content_cut: Longer than the model reads: {'; '.join(parts)}. Only lexical "
        "search finds the end of these."
    )


def _countable(recipe: IndexRecipe) -> bool:
    """Whether passages may be too long, and are counted without embedding."""
    return bool(unread_from(recipe)) and recipe.chunker != "semantic"


@cache_data(64, show_spinner="Counting passages …")
def _unread(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, int]:
    """Counts of the passages of the first million characters: those too long, and all."""
    longer = passages = characters = 0
    for info in base.documents.documents(recipe):
        if characters >= _COUNTED:
            break
        found, seen = base.documents.unread(base.documents.document(info.id), recipe)
        longer, passages = longer + found, passages + seen
        characters += info.characters
    return longer, passages


@cache_data(64, show_spinner=False)
def _characters(base: KnowledgeBase, recipe: IndexRecipe) -> int:
    return sum(info.characters for info in base.documents.documents(recipe))


def _passages(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, bool]:
    """The number of passages of a build, and whether that number is exact."""
    builds = [build for build in base.documents.builds() if build.recipe.cut == recipe.cut]
    if builds and not base.documents.missing(builds[0].recipe):
        return builds[0].passages, True
    return expected_passages(base, recipe)


@cache_data(64, show_spinner="Counting passages …")
def expected_passages(base: KnowledgeBase, recipe: IndexRecipe) -> tuple[int, bool]:
    """Return the number of passages of all documents under a recipe, and whether it is exact.

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


@dialog("Delete this index?", icon=":material/delete:")
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
