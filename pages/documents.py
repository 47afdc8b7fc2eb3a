"""The Documents page: the documents of a knowledge base, and how they are chunked."""

from collections.abc import Sequence, Set

import streamlit as st

from pages.components.documents.add import add_area, sample_button, upload_status
from pages.components.documents.bases import bases_view
from pages.components.documents.chunk_preview import chunk_preview
from pages.components.documents.examination import examination_view
from pages.components.documents.table import documents_table, search_badge
from pages.components.recipe.index_builds import folded_builds
from pages.components.runs.next_step import page_title
from pages.components.shell.guard import guard
from pages.components.shell.job_progress import reading
from pages.components.shell.session import chosen_base, refusal
from rag import DocumentInfo, KnowledgeBase, counted


def _empty() -> None:
    st.markdown("This knowledge base is empty. Add your documents:")


def _or_the_sample() -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "Or try the sample: documents of a fictional company, with labelled questions.",
            width="stretch",
        )
        sample_button()


def _documents(base: KnowledgeBase, infos: Sequence[DocumentInfo], by_words: Set[str]) -> None:
    picked = documents_table(base, infos, by_words)
    if picked is not None:
        with guard():
            chunk_preview(base, picked)
    with guard():
        if not refusal(base, "documents.examinations.examine"):
            examination_view(base)
    with guard():
        folded_builds(base)


with guard():
    page_title("Documents", "documents")
with guard():
    bases_view()
with guard():
    chosen = chosen_base()
    infos = chosen.documents.documents(chosen.recipe().index)
    number, left_out = len(infos), sum(info.left_out for info in infos)
    if reading(chosen.id) and not number:
        st.markdown("The first documents are being read.")
    elif not number:
        _empty()
    add_area(chosen)
    if not number and not reading(chosen.id):
        _or_the_sample()
    with guard():
        upload_status(chosen)
    if number:
        by_words = set(chosen.documents.by_words(chosen.recipe().index))
        title = f"{counted(number, 'document')} {search_badge(infos, by_words)}"
        st.header("Documents so far" if reading(chosen.id) else title)
        if left_out:
            st.caption(
                f"{left_out:,} of them {'is' if left_out == 1 else 'are'} left out of search."
            )
        _documents(chosen, infos, by_words)
