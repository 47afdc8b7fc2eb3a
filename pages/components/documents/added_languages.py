"""The languages of added documents that the embedder of a knowledge base does not support."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.session import cache_data
from pages.components.shell.text import plain
from rag import JobItem, KnowledgeBase, LanguageGap, counted

_MOST_READ = 20  # documents whose language is looked at


def language_note(base: KnowledgeBase, items: Sequence[JobItem]) -> None:
    """Name the languages of the documents of an upload that dense search does not know."""
    names = sorted(item.name for item in items if item.status in ("added", "replaced"))
    embedder = base.recipe().index.embedder
    gaps: list[LanguageGap] = _gaps(base, tuple(names[:_MOST_READ]), embedder)
    if not gaps:
        return
    languages = " and ".join(sorted({gap.language for gap in gaps}))
    way = "build an index with" if gaps[0].installed else _INSTALL
    documents = counted(len(gaps), "document", "documents")
    seem = "seems" if len(gaps) == 1 else "seem"
    among = f" of the first {_MOST_READ}" if len(names) > _MOST_READ else ""
    st.markdown(
        f":material/translate: {documents}{among} {seem} to be in {languages}, which "
        f"{plain(embedder)} doesn't support: only lexical search ranks such passages well. For "
        f"dense search, {way} *{plain(gaps[0].embedder)}*."
    )


_INSTALL = "install `requirements-multilingual.txt`, restart, and build an index with"


@cache_data(32)
def _gaps(base: KnowledgeBase, names: Sequence[str], embedder: str) -> list[LanguageGap]:
    """Return the gap of each document in a language that an embedder does not support."""
    rows = base.documents.documents(base.recipe().index)
    texts = [base.documents.document(row.id).text for row in rows if row.name in set(names)]
    gaps = [base.additions.language_gap(text, embedder) for text in texts]
    return [gap for gap in gaps if gap is not None]
