"""Cards for the answer metrics of a run, in the style of the retrieval cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components.metrics.cards import DOUBTED, DOUBTED_WRONGLY, Card, Ranges, card_grid
from pages.components.shell.text import plain
from rag import Comparison, QuestionResult, Run, counted

DECISIONS = "refusal_correctness"
ANSWER_CARDS = (
    Card(
        DECISIONS,
        "Correct decisions",
        "Share of the questions that were answered where the documents hold the answer, and "
        "refused where they do not. A doubtful answer counts as answered.",
        percent=True,
    ),
    Card(
        "groundedness",
        "Groundedness",
        "Share of the sentences of an answer that its cited passages support.",
    ),
    Card("answer_relevance", "Answer relevance", "How near an answer is to its question."),
    Card("citation_precision", "Citation precision", "Share of the citations that are labelled."),
    Card("token_f1", "Token F1", "Words shared with the expected answer of a question."),
)


def answer_cards(
    run: Run,
    before: Run | None,
    results: Sequence[QuestionResult],
    ranges: Ranges,
    changes: Mapping[str, Comparison],
) -> None:
    """Nothing where the run only measured retrieval."""
    if any(card.metric in run.metrics for card in ANSWER_CARDS):
        card_grid(ANSWER_CARDS, run, before, ranges, changes)
        if doubted := sum(bool(row.metrics.get(DOUBTED_WRONGLY)) for row in results):
            answerable = sum(DOUBTED_WRONGLY in row.metrics for row in results)
            st.caption(
                f":material/help: {doubted:,} of {counted(answerable, 'answerable question')} "
                "got a refusal or a doubtful answer; below, they are marked *but doubted*."
            )
        if {DOUBTED, DECISIONS} <= run.metrics.keys():
            st.caption(
                ":material/rule: *Correct refusals* counts a doubtful answer as a refusal, and "
                "*Correct decisions* counts it as an answer."
            )
        if answer_cost := run.environment.get("answers"):
            st.caption(f":material/payments: Answers: {plain(answer_cost)}.")
        if run.prompts:
            st.caption(f":material/edit_note: Prompts: {plain(run.prompts)}")
