"""The account of a document's reading: what became text, and what did not."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.components.shell.guard import guard
from pages.components.source.view import SourceSpan, forget_walk, source_view
from rag import ENCODINGS, KnowledgeBase, Receipt, counted, language_name

_GUESSED, _CHOSEN = "encoding_guessed", "encoding_chosen"
_SHOWN = 200  # characters behind the place


def draw_receipt(base: KnowledgeBase, document_id: str, receipt: Receipt) -> None:
    """Draw one line for the text, and a button for each kind of content that is not in it.

    A click opens the document where the first of them would be.
    """
    st.caption(f"Read: {_read(receipt)}.")
    if not receipt.left_out:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(":orange[:material/warning:] Not read:", width="content")
        for omission in receipt.left_out:
            if st.button(
                omission.words,
                key=f"documents_omission_{omission.kind}",
                type="tertiary",
                help="Show the place",
                on_click=forget_walk,
            ):
                start = omission.start
                show_unread(base, document_id, start, start + _SHOWN)


@st.dialog("Not read", icon=":material/hide_image:", width="large")
def show_unread(base: KnowledgeBase, document_id: str, start: int, end: int) -> None:
    """Show a document around what its reader left out."""
    with guard():
        source_view(base, base.recipe(), SourceSpan(document_id, start, end))


def draw_encodings(receipt: Receipt, read_again: Callable[[str], None], **options: object) -> None:
    """Offer other encodings for a text whose own one was guessed or chosen.

    ``read_again`` is called with the one that is picked.
    """
    if not (receipt.read.get(_GUESSED) or receipt.read.get(_CHOSEN)):
        return
    now = str(receipt.read["encoding"])

    def pick() -> None:
        if picked := st.session_state.get("documents_encoding"):
            read_again(picked)

    st.selectbox(
        "Wrong letters? Read it again as",
        [name for name in ENCODINGS if name != now],
        index=None,
        key="documents_encoding",
        placeholder=now,
        width=280,
        on_change=pick,
        **options,
    )


def _read(receipt: Receipt) -> str:
    parts = [
        counted(number, kind.removesuffix("s").replace("_", " "))
        for kind, number in receipt.read.items()
        if isinstance(number, int) and kind not in (_GUESSED, _CHOSEN)
    ]
    parts.append(language_name(str(receipt.read.get("language", "en"))))
    if encoding := receipt.read.get("encoding"):
        parts.append(f"{encoding}{', guessed' if receipt.read.get(_GUESSED) else ''}")
    return " · ".join(parts)
