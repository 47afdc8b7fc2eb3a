"""Passages that two runs retrieved for one question, side by side, with the moves marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components.recipe import working_recipe
from pages.components.shell.guard import guard
from pages.components.shell.permission import offered
from pages.components.shell.text import plain
from pages.components.source.snippets import snippet
from rag import KnowledgeBase, RankedPassage, Run, RunComparison, page_name, unmarked

_LENGTH = 150


def traces(
    base: KnowledgeBase, compared: RunComparison, names: Mapping[str, str], question_id: str
) -> None:
    """Two columns of passages: the reference left, the run right."""
    sides = base.runs.side_by_side(compared.run.id, compared.baseline.id, question_id)
    st.markdown(f"### {plain(sides.question)}")
    left, right = st.columns(2, gap="medium")
    with left:
        _side(base, compared.baseline, names, sides.question, sides.before, is_after=False)
    with right:
        _side(base, compared.run, names, sides.question, sides.after, is_after=True)


def _side(
    base: KnowledgeBase,
    run: Run,
    names: Mapping[str, str],
    question: str,
    passages: Sequence[RankedPassage],
    *,
    is_after: bool,
) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{plain(names[run.id])}**", width="stretch")
        if run.recipe and st.button(
            "Inspect",
            key=f"runs_inspect_{run.id}",
            icon=":material/troubleshoot:",
            type="tertiary",
            **offered(
                base, "explain", help="Opens the question in the inspector with this run's recipe."
            ),
        ):
            with guard():
                working_recipe.replace(base, run.recipe)
                st.switch_page("inspector.py", query_params={"q": question})
    ranking(passages, is_after=is_after)


def ranking(passages: Sequence[RankedPassage], *, is_after: bool) -> None:
    """Draw the passages of one ranking as cards."""
    if not passages:
        st.info("Nothing came back.", icon=":material/block:")
        return
    with st.container(border=True, gap="small"):
        for passage in passages:
            st.markdown(card(passage, is_after=is_after))


def card(passage: RankedPassage, *, is_after: bool) -> str:
    """A passage of a ranking as markdown: rank, document, what moved, whether it is relevant."""
    chunk = passage.chunk
    page = page_name(passage.document, chunk.page, chunk.heading, "· ") if chunk else ""
    gone = "a deleted document" if passage.foreign is None else "in no document"
    document = plain(passage.document) if passage.document else f":gray[{gone}]"
    mark = moved_to(passage) if is_after else moved_from(passage)
    grade = f" :green-badge[relevant {passage.grade}]" if passage.grade else ""
    where = f"{document} {plain(page)}".strip()
    head = f"**{passage.rank}** · {where} {mark}{grade}"
    text = chunk.text if chunk else passage.foreign
    return f"{head}  \n:small[:gray[{snippet(unmarked(text), (), _LENGTH)}]]" if text else head


def moved_to(passage: RankedPassage) -> str:
    """A badge with the move of a passage of the later ranking."""
    if passage.other is None:
        return ":blue-badge[new]"
    if passage.other == passage.rank:
        return ""
    up = passage.other - passage.rank
    return f":green[▲ {up}]" if up > 0 else f":orange[▼ {-up}]"


def moved_from(passage: RankedPassage) -> str:
    """A badge with the move of a passage of the earlier ranking."""
    if passage.other is None:
        return ":orange-badge[gone]"
    return "" if passage.other == passage.rank else f":gray[→ {passage.other}]"
