"""The question with another recipe beside: what moved, how much the lists agree, labels found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.components.inspector import explanations
from pages.components.inspector.page_overlay import page_overlay
from pages.components.inspector.rank_flow import rank_flow
from pages.components.labels.grading import SET
from pages.components.metrics.cards import style
from pages.components.recipe.working_recipe import read_value
from pages.components.runs.traces import ranking
from pages.components.shell.buttons import switch
from pages.components.shell.session import show, to_url
from pages.components.shell.text import plain
from rag import (
    InvalidRecipe,
    KnowledgeBase,
    RankedPassage,
    Recipe,
    RetrievalComparison,
    Trace,
    signed,
)

AGAINST, CHANGES, RUN = "against", "changes", "against_run"
_SAVED, _CHANGED, _OF_RUN = "The saved recipe", "Changed fields", "A run's recipe"
_DEFAULT = "mode=dense"


def compare_view(base: KnowledgeBase, trace: Trace, recipe: Recipe) -> None:
    """Left the recipe that you work with, right the other one."""
    other = _other(base, recipe)
    if other is None:
        return
    differences = recipe.differences(other)
    if not differences:
        st.info("Both recipes are the same.", icon=":material/drag_handle:")
        return
    if base.documents.missing(other.index):
        st.info("The other recipe needs an index that is not built; build it on Documents.")
        return
    compared = explanations.compare(base, trace.question, recipe, other, st.session_state.get(SET))
    before, after = listed(compared)
    st.caption(_sentence(differences))
    _figures(compared, sum(passage.other is not None for passage in after))
    rank_flow(compared)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**As it is**")
        ranking(before, is_after=False)
    with right:
        st.markdown("**The other recipe**")
        ranking(after, is_after=True)
    _labels(compared)
    page_overlay(base, compared)


def _other(base: KnowledgeBase, recipe: Recipe) -> Recipe | None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        kind = switch("Compare with", [_CHANGED, _SAVED, _OF_RUN], AGAINST)
        if kind == _SAVED:
            return base.recipe()
        if kind == _OF_RUN:
            return _of_run(base)
        text = st.text_input(
            "Fields",
            value=_DEFAULT,
            key=CHANGES,
            bind="query-params",
            help="As on the command line, more than one by comma: mode=dense, dense_weight=0.3",
        )
    return recipe.with_fields(fields(text or ""))


def _of_run(base: KnowledgeBase) -> Recipe | None:
    runs = {run.id: run for run in base.runs.list_all() if run.recipe}
    if not runs:
        st.caption("No run yet: evaluate a question set on Metrics.")
        return None
    if (named := st.query_params.get(RUN, "")) in runs:
        show(RUN, named)
    chosen = st.selectbox(
        "Run",
        list(runs),
        key=RUN,
        on_change=lambda: to_url(RUN, st.session_state[RUN]),
        format_func=lambda name: f"{name} · {runs[name].question_set} · {runs[name].created:%d %b}",
    )
    return runs[chosen].recipe


def fields(text: str) -> dict[str, Any]:
    """``mode=dense, search.top_k=3`` as recipe fields. Raises InvalidRecipe."""
    changes = {}
    for change in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in change.partition("="))
        if not equals:
            raise InvalidRecipe(f"{change!r} has no value.", "Write it like mode=dense.")
        changes[name if "." in name else f"search.{name}"] = read_value(value)
    return changes


def _sentence(differences: dict[str, tuple[Any, Any]]) -> str:
    parts = [
        f"{name} {json.dumps(one)} → {json.dumps(other)}"
        for name, (one, other) in differences.items()
    ]
    return plain(" · ".join(parts))


def _figures(compared: RetrievalComparison, common: int) -> None:
    before, after = compared.shown_labels()
    one, two, three = st.columns(3)
    one.metric(
        "Rank-biased overlap",
        f"{compared.overlap:.2f}",
        help="1: the same list, 0: nothing in common; first places count most "
        "(Webber, Moffat, Zobel 2010, p = 0.9, extrapolated).",
    )
    two.metric("Shown by both", f"{common} of {len(compared.sides.after)}")
    if compared.labels:
        three.metric(
            "Labels found",
            f"{after} of {len(compared.labels)}",
            delta=signed(after - before, 0) if after != before else None,
            **style(after - before),
        )


def _labels(compared: RetrievalComparison) -> None:
    if not compared.labels:
        st.caption("No label says where this question is answered: grade passages above.")
        return
    st.dataframe(
        [
            {
                "label": ranked.label.quote or ranked.label.document_name,
                "document": ranked.label.document_name,
                "grade": ranked.label.grade,
                "as it is": ranked.before,
                "other": ranked.after,
            }
            for ranked in compared.labels
        ],
        hide_index=True,
        placeholder="not shown",
        column_config={"label": st.column_config.TextColumn("label", width="large")},
        alt="Labels, and the rank at which each recipe shows them.",
    )


def listed(compared: RetrievalComparison) -> tuple[list[RankedPassage], list[RankedPassage]]:
    """Both lists; a passage that the other one does not show has no rank there."""
    before, after = compared.sides.before, compared.sides.after
    return [_within(passage, after) for passage in before], [
        _within(passage, before) for passage in after
    ]


def _within(passage: RankedPassage, others: Sequence[RankedPassage]) -> RankedPassage:
    beyond = passage.other is not None and passage.other > len(others)
    return replace(passage, other=None) if beyond else passage
