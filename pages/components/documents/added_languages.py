"""The languages of added documents that the embedder of a knowledge base does not support."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.text import plain
from rag import KnowledgeBase, Receipt, counted


def language_note(base: KnowledgeBase, receipts: Sequence[Receipt]) -> None:
    """Name the languages of the documents of an upload that dense search does not know."""
    index = base.recipe().index
    languages_read = [str(receipt.read.get("language", "")) for receipt in receipts]
    by_code = {
        code: base.documents.language_gap(code, index.embedder) for code in set(languages_read)
    }
    gaps = [gap for code in languages_read if (gap := by_code[code]) is not None]
    if not gaps:
        return
    languages = " and ".join(sorted({gap.language for gap in gaps}))
    way = "build an index with" if gaps[0].installed else _INSTALL
    documents = counted(len(gaps), "document", "documents")
    seem = "seems" if len(gaps) == 1 else "seem"
    st.markdown(
        f":material/translate: {documents} {seem} to be in {languages}, which "
        f"{plain(index.embedder)} doesn't support: only lexical search ranks such passages well. "
        f"For dense search, {way} *{plain(gaps[0].embedder)}*. {ITS_USE}"
    )


ITS_USE = (
    "It is for questions in another language than the documents, and refuses fewer questions that "
    "no document answers. Questions in the language of a document are found by its words."
)
"""What a multilingual embedder gains and costs, as docs/measurements.md has it for refusal and
for search in several languages."""
_INSTALL = "install `requirements-multilingual.txt`, restart, and build an index with"
