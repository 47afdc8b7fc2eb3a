"""The what-if view of one passage: its rank, what would change it, or why it is missing."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.inspector import explanations
from pages.components.recipe import working_recipe
from pages.components.shell.buttons import action_button
from pages.components.shell.session import shared_cache
from pages.components.shell.text import clipped, plain
from pages.components.source.places import place
from pages.components.source.view import forget_walk
from rag import (
    Counterfactual,
    Finding,
    Hit,
    InvalidInput,
    KnowledgeBase,
    NotFound,
    Place,
    QuoteFate,
    Recipe,
    Standing,
    Trace,
    page_name,
    passage_key,
    stage_title,
    unmarked,
)

PASSAGE = "passage"  # the URL's parameter: any passage of the build, by id
TEXT, DOCUMENT = "missing", "missing_document"
MOST_DOCUMENTS = 500
_MOST_UNROLLED, _TALLEST = 3, 420  # findings; pixels
_OUTCOMES = {"kept": "came through", "lost": "lost here"}  # others are called what they are
_MATCHES = {
    "exact": ":green-badge[has these words]",
    "similar": ":orange-badge[has nearly these words]",
    "nearest": ":gray-badge[nearest, without the words]",
    "document": "",
}


def what_if(
    base: KnowledgeBase,
    trace: Trace,
    recipe: Recipe,
    selected: Hit | None,
    fates: Mapping[int, QuoteFate],
) -> None:
    """Draw the rank of the open passage, stage by stage, and the changes that would move it.

    ``fates`` says what an answer of quotes quotes, by the key of the passage.
    """
    st.markdown("### Rank of the passage")
    key = _wanted(selected)
    if key is None:
        st.caption("Select a passage above.")
        return
    explainer = explanations.explainer(base, trace, recipe)
    try:
        standing = explainer.standing(key)
    except NotFound:
        if selected is None:
            raise
        key = selected.chunk.key
        standing = explainer.standing(key)
    st.markdown(headline(standing, place(base, standing.chunk), fates.get(key)))
    if recipe.search.tools:
        st.caption("Without the tools of the recipe: by what this knowledge base finds alone.")
    _steps(standing)
    st.markdown("### What would change that")
    for change in explainer.changes(key):
        _change(base, change)
    st.caption(
        "Each change was tested by itself, with a search. A change 1% smaller is not enough."
    )


def _wanted(selected: Hit | None) -> int | None:
    """The passage that the URL names, also one that is no candidate; else the selected one."""
    try:
        return passage_key(st.query_params[PASSAGE])
    except (InvalidInput, KeyError):
        return selected.chunk.key if selected else None


def headline(
    standing: Standing, at: Place, fate: QuoteFate | None = None, expected: str = ""
) -> str:
    """The passage and its fate, as markdown. What quotes leave out has no check.

    ``expected`` are words of the passage, which need not be those that are quoted.
    """
    page = plain(page_name(standing.document, at.page, at.heading, "· ", at.label))
    where = f"**{plain(standing.document)}** {page}".strip()
    icon, summary = ":material/check_circle:", standing.summary
    if standing.lost:
        icon = ":material/block:"
    elif fate is not None and fate.number:
        summary += f", {_quoted_as(fate, expected)}"
    elif fate is not None:
        icon, summary = ":material/info:", f"{summary}, not quoted: {fate.reason}"
    return f"{where}  \n{icon} {plain(summary)}"


def quoted(fate: QuoteFate | None) -> str:
    """Whether the answer quotes a passage, and why not; "" where a language model answers."""
    if fate is None:
        return ""
    if fate.number:
        return f":small[:material/format_quote: {plain(_quoted_as(fate))}]"
    return f":small[:gray[:material/block: not quoted: {plain(fate.reason)}]]"


def _quoted_as(fate: QuoteFate, expected: str = "") -> str:
    quote, words = (
        " ".join(unmarked(text).casefold().split()).strip(".") for text in (fate.quote, expected)
    )
    other = "" if words in quote or quote in words else " by another sentence"
    return f"quoted as [{fate.number}]{other}{', folded below the answer' * fate.folded}"


def _steps(standing: Standing) -> None:
    st.dataframe(
        [
            {
                "stage": stage_title(step.stage),
                "": _OUTCOMES.get(step.outcome, step.outcome),
                "how": step.words,
            }
            for step in standing.steps
        ],
        hide_index=True,
        column_config={"how": st.column_config.TextColumn("how", width="large")},
        alt=f"The passage through the stages: {standing.summary}",
    )
    if standing.figures.lacking:
        st.caption(
            f"Words of the question that it lacks: {plain(', '.join(standing.figures.lacking))}"
        )


def _change(base: KnowledgeBase, change: Counterfactual) -> None:
    if change.value is None:
        st.markdown(f":gray[:material/remove: {plain(change.words)}]")
        return
    words, button = st.columns([4, 1], vertical_alignment="center")
    icon = ":material/login:" if change.enters else ":material/logout:"
    words.markdown(f"{icon} {plain(change.words[0].upper() + change.words[1:])}")
    key = f"what_if_apply_{change.field}"
    explained = "Changes the working recipe. *Reset* in the sidebar restores it."
    with button:
        action_button("Apply", key, "tune", _apply, base, change, type="tertiary", help=explained)


def _apply(base: KnowledgeBase, change: Counterfactual) -> None:
    whole = change.field in ("top_k", "candidates")
    value = int(change.value or 0) if whole else change.value
    working_recipe.change(base, {f"search.{change.field}": value})


def expected_fields(base: KnowledgeBase) -> tuple[str, str | None]:
    """Draw the fields for a passage that the user expected.

    Return its words, and the id of its document.
    """
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text = st.text_input(
            "Expected something else? Paste its words",
            key=TEXT,
            bind="query-params",
            placeholder="A sentence of the passage that you expected",
            icon=":material/frame_inspect:",
        )
        document = _document(base)
    return text or "", document


def forget_expected() -> None:
    """Empty the fields for an expected passage, which is one of a single question.

    Call this in a callback. They are set, not deleted: a browser keeps what a field shows.
    """
    st.session_state[TEXT], st.session_state[DOCUMENT] = "", None


def expected(
    base: KnowledgeBase, trace: Trace, recipe: Recipe, text: str, document: str | None
) -> None:
    """Draw where the passages with these words, or of this document, stand, and why."""
    if text.strip():
        findings = explanations.find(base, trace, recipe, text)
    elif document:
        findings = explanations.explainer(base, trace, recipe).in_document(document)
    else:
        return
    explanation = explanations.quotes_explanation(base, trace, recipe)
    fates = explanation.fates if explanation else {}
    if not findings:
        st.info("This document has no passage in the index.")
    with st.container(height=_TALLEST if len(findings) > _MOST_UNROLLED else "content"):
        for finding in findings:
            _finding(base, finding, fates.get(finding.standing.chunk.key), text)


@shared_cache(4)
def _document_ids(base: KnowledgeBase) -> Mapping[str, str]:
    """The ids of all documents by name, in the order of their names."""
    return {info.name: info.id for info in base.documents.documents(base.recipe().index)}


def _document(base: KnowledgeBase) -> str | None:
    documents = _document_ids(base)
    options = {"key": DOCUMENT, "bind": "query-params", "width": 260}
    if len(documents) <= MOST_DOCUMENTS:
        name = st.selectbox("Or choose its document", list(documents), None, **options)
    else:
        name = st.text_input("Or type the name of its document", **options)
    if name and name not in documents:
        st.caption(f"No document is called {plain(name)}.")
    return documents.get(name) if name else None


def _finding(base: KnowledgeBase, finding: Finding, fate: QuoteFate | None, text: str) -> None:
    standing = finding.standing
    with st.container(border=True, gap="xsmall"):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            title = headline(standing, place(base, standing.chunk), fate, text)
            st.markdown(f"{title} {_MATCHES[finding.match]}", width="stretch")
            chunk_id = standing.chunk.id
            key = f"what_if_look_{chunk_id}"
            action_button("Look up", key, "search", open_passage, chunk_id, type="tertiary")
        words = gap_words(finding)
        if words:
            st.caption(words)
        st.markdown(f":small[:gray[{plain(clipped(unmarked(standing.chunk.text), 240))}]]")


def gap_words(finding: Finding) -> str:
    """The gap to the last passage shown: score differences and the question words it lacks."""
    gap, lacking = finding.gap, finding.standing.figures.lacking
    if gap is None:
        return ""
    parts = [_behind(gap.dense, "cosine", 3)]
    parts += [_behind(gap.bm25, "BM25", 2)] if gap.bm25 is not None else []
    parts += [_behind(gap.score, "score", 3)] if gap.score is not None else []
    words = f"; it lacks the words {plain(', '.join(lacking))}" if lacking else ""
    return f"Against the last one shown ({plain(gap.last.document)}): {', '.join(parts)}{words}."


def _behind(gap: float, name: str, digits: int) -> str:
    return f"{abs(gap):.{digits}f} {'less' if gap > 0 else 'more'} {name}"


def open_passage(chunk_id: str) -> None:
    """Make a passage the one that is open on the page."""
    st.query_params[PASSAGE] = chunk_id
    forget_walk()
