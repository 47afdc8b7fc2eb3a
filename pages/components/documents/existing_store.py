"""The tab *From a store*: a table, collection or index is looked at, and comes in as it is."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.components.recipe.index_builds import embedders
from pages.components.shell.buttons import filled_button
from pages.components.shell.door import new_base_button
from pages.components.shell.guard import guard
from pages.components.shell.session import offered
from pages.components.shell.text import clipped, plain
from rag import STORE_KINDS, ExistingStore, KnowledgeBase, StorePreview, counted, vector_space

_TITLES = {
    "pgvector": "PostgreSQL with pgvector",
    "qdrant": "Qdrant",
    "elasticsearch": "Elasticsearch",
    "opensearch": "OpenSearch",
}
_ADDRESSES = {"pgvector": "postgresql://USER@HOST:5432/DATABASE"}
_FIELDS = {
    "text": "Text",
    "vector": "Vectors",
    "id": "ID",
    "title": "Title",
}
_SHOWN = 200  # characters of a text
_MOST_LISTED = 12


def store_area(base: KnowledgeBase, follow: Callable[[int], None]) -> None:
    """The place of a store, its preview, and its import; ``follow`` takes the job."""
    st.caption(
        "Measure a store that you already run. Its texts become documents with the vectors that "
        "they have there. The store is only read."
    )
    index = base.recipe().index
    space = vector_space(index.embedder)[1]
    if base.documents.documents(index) and not space:
        st.markdown(
            "This knowledge base has documents of its own. The vectors of a store rank its own "
            "texts only, so the store needs a knowledge base of its own. Create one, then import "
            "the store there."
        )
        new_base_button("store_new_base", type="primary")
        return
    # No form of Streamlit: that keeps what is typed to itself until it is sent.
    with st.grid(2, min_column_width=240):
        kind = st.selectbox("Kind", STORE_KINDS, format_func=_TITLES.__getitem__, key="store_kind")
        st.text_input(
            "Address",
            key="store_address",
            placeholder=_ADDRESSES.get(kind, "https://store.example"),
        )
        st.text_input("Table, collection or index", key="store_name", placeholder="passages")
        st.text_input(
            "Variable of its password or key",
            key="store_key",
            placeholder="TOUCHSTONE_TOOL_NAME",
            help="The name of an environment variable of the server, never the key itself.",
        )
        st.selectbox(
            "Embedding model of its vectors",
            embedders(index.model_copy(update={"embedder": vector_space(index.embedder)[0]})),
            key="store_embedder",
            accept_new_options=True,
            help="It embeds the questions. Remote models also as PROVIDER:MODEL.",
        )
    with st.expander("Fields"):
        st.caption("What you leave empty is chosen by what the store has.")
        with st.grid(4, min_column_width=160):
            for name, label in _FIELDS.items():
                st.text_input(label, key=f"store_{name}")
    ready = bool(_value("address") and _value("name") and _value("embedder"))
    with st.container(horizontal=True, gap="small"):
        looked = filled_button("Preview", key="store_preview", disabled=not ready)
        options = offered(
            base, "documents.import_store", key="store_import", icon=":material/download:"
        )
        options["disabled"] = options.get("disabled", False) or not ready
        started = st.button("Import", **options)
    if looked:
        with guard(), st.spinner("Reading some rows …"):
            _show(base.documents.preview_store(_typed(), _value("embedder")), _value("embedder"))
    if started:
        follow(base.documents.import_store(_typed(), _value("embedder")))


def _value(name: str) -> str:
    return str(st.session_state.get(f"store_{name}") or "").strip()


def _typed() -> ExistingStore:
    """The store in the form, as it is now. Raises InvalidInput."""
    names = ("kind", "address", "name", "key", *_FIELDS)
    return ExistingStore.parse({name: _value(name) for name in names})


def _show(preview: StorePreview, embedder: str) -> None:
    store, layout = preview.store, preview.layout
    vector = next(item for item in layout.vectors if item.name == store.vector)
    size = f"{vector.dimension:,} dimensions" if vector.dimension else "of any dimension"
    parts = (f"**{counted(layout.rows, 'row')}**", f"vectors of {size}", vector.similarity)
    st.markdown(", ".join(filter(None, parts)) + ".")
    _draw_check(preview, embedder)
    for note in preview.notes:
        st.markdown(f":orange[:material/warning:] {plain(note)}")
    title = f", title from *{plain(store.title)}*" if store.title else ""
    others = [plain(field.name) for field in layout.fields][:_MOST_LISTED]
    fields = f" Fields: {', '.join(others)}." if others else ""
    places = f"Text from *{plain(store.text)}*, vectors from *{plain(vector.name)}*{title}."
    st.caption(places + fields)
    st.dataframe(
        [
            {"ID": row.id, "Title": row.title, "Text": clipped(row.text, _SHOWN)}
            for row in preview.rows
        ],
        column_config={
            "ID": st.column_config.TextColumn(width="small"),
            "Title": st.column_config.TextColumn(width="small"),
            "Text": st.column_config.TextColumn(width="large"),
        },
        hide_index=True,
        alt="Random rows of the store as they become documents.",
    )


def _draw_check(preview: StorePreview, embedder: str) -> None:
    check = preview.check
    if check is None:
        return
    name = plain(embedder)
    if not check.foreign:
        st.markdown(
            f":green[:material/check_circle:] All {check.sampled:,} sampled vectors are those "
            f"that {name} makes of their texts."
        )
        return
    rows = ", ".join(
        f"{plain(item.passage)} ({item.cosine:.2f})" for item in check.foreign[:_MOST_LISTED]
    )
    st.markdown(
        f":orange[:material/warning:] {len(check.foreign):,} of {check.sampled:,} sampled vectors "
        f"are not those that {name} makes of their texts. Rows with their cosines: {rows}."
    )
