"""The account of a document's reading: what became text, and what did not."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from rag import Omission, Receipt, counted, language_name

_GUESSED = "encoding_guessed"


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


def _read(receipt: Receipt) -> str:
    parts = [
        counted(number, kind.removesuffix("s").replace("_", " "))
        for kind, number in receipt.read.items()
        if isinstance(number, int) and kind != _GUESSED
    ]
    parts.append(language_name(str(receipt.read.get("language", "en"))))
    if encoding := receipt.read.get("encoding"):
        guessed = ", guessed" if receipt.read.get(_GUESSED) else ""
        parts.append(f"{encoding}{guessed}")
    return " · ".join(parts)
