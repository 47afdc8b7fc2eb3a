"""The form of an index: the same fields and words wherever an index is described."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from pages.components.shell.session import workspace
from pages.components.shell.text import plain
from pages.components.shell.wording import CONTEXT_HELP, CONTEXTS
from rag import CAPTIONS, IndexRecipe, TouchstoneError, chunker_name, tokens_read

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
