"""Cards for the answer metrics of a run, in the style of the retrieval cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import streamlit as st

from pages.components.metrics.cards import DOUBTED_WRONGLY, JUDGED, Card, Ranges, card_grid
from pages.components.shell.text import plain
from rag import METRIC_TITLES, Comparison, QuestionResult, Run, counted

DECISIONS, BY_STATUS = "correct_decision", "refusal_correctness"
ANSWER_CARDS = (
    Card(
        DECISIONS,
        "Correct decisions",
        "Share of the questions that were answered without doubt where the documents hold the "
        "answer, and refused or doubted where they do not.",
        percent=True,
    ),
    Card(
        "groundedness",
        "Groundedness",
        "Share of the sentences of an answer that its cited passages support.",
    ),
    Card("answer_relevance", "Answer relevance", "How near an answer is to its question."),
    Card("citation_precision", "Citation precision", "Share of the citations that are labelled."),
    Card(
        JUDGED,
        "Right answers",
        "How right a language model considers the answers, compared with the expected ones.",
        percent=True,
    ),
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
        shown_cards = [_decisions_card(run), *ANSWER_CARDS[1:]]
        if JUDGED not in run.metrics:  # only an evaluation with a judge has it
            shown_cards = [card for card in shown_cards if card.metric != JUDGED]
        card_grid(shown_cards, run, before, ranges, changes)
        if doubted := sum(bool(row.metrics.get(DOUBTED_WRONGLY)) for row in results):
            answerable = sum(DOUBTED_WRONGLY in row.metrics for row in results)
            st.caption(
                f":material/help: {doubted:,} of {counted(answerable, 'answerable question')} "
                "got a refusal or a doubtful answer; below, they are marked *doubted*."
            )
        if answer_cost := run.environment.get("answers"):
            st.caption(f":material/payments: Answers: {plain(answer_cost)}.")
        if run.prompts:
            st.caption(f":material/edit_note: Prompts: {plain(run.prompts)}")


def _decisions_card(run: Run) -> Card:
    """The first card; runs of earlier versions have decisions only by the status of answers."""
    card = ANSWER_CARDS[0]
    if DECISIONS in run.metrics or BY_STATUS not in run.metrics:
        return card
    help_text = (
        "Share of the questions that were answered, with or without doubt, where the documents "
        "hold the answer, and refused where they do not."
    )
    return replace(card, metric=BY_STATUS, label=METRIC_TITLES[BY_STATUS], help=help_text)
