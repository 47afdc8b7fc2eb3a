"""The account of a document's reading: what became text, and what did not."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from rag import ENCODINGS, Omission, Receipt, counted, language_name

_GUESSED, _CHOSEN = "encoding_guessed", "encoding_chosen"


def draw_receipt(receipt: Receipt, show: Callable[[Omission], None]) -> None:
    """Draw one line for the text, and a button for each kind of content that is not in it.

    A click calls ``show`` with the omission.
    """
    st.caption(f"Read: {_read(receipt)}.")
    if not receipt.left_out:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.caption(":orange[:material/warning:] Not read:", width="content")
        for omission in receipt.left_out:
            st.button(
                omission.words,
                key=f"documents_omission_{omission.kind}",
                type="tertiary",
                help="Show the place",
                on_click=show,
                args=(omission,),
            )


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
