"""Usage, refusals, times and ratings of a knowledge base, over a period."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from pages.components.chat import turn_view
from pages.components.operations.cards import cards
from pages.components.operations.charts import charts
from pages.components.shell.buttons import switch
from pages.components.shell.text import plain
from pages.components.shell.wording import ago, clipped, seconds
from rag import (
    KnowledgeBase,
    TurnRow,
    cost_of,
    counted,
    money,
    operation_figures,
    operation_periods,
    percent,
    slowest_turns,
    total_seconds,
    unsupported_sentences,
    worst_turns,
)

PERIOD = "period"  # the URL's parameter
DAYS: Mapping[str, float | None] = {"24 hours": 1, "7 days": 7, "30 days": 30, "All": None}

LONGEST = 110
LISTED = 8

_FAULTS: Mapping[str, str] = {
    "thumb down": "thumb down",
    "failed": "failed",
    "interrupted": "interrupted",
    "unsupported": "cites what is not there",
    "unsupported sentence": "not supported",
    "no citation": "cites nothing",
    "cut prompt": "prompt cut",
    "doubtful": "doubtful",
    "refused": "refused",
}


def operations(base: KnowledgeBase) -> None:
    """Draw totals, charts over time, and the turns that need a look."""
    period = switch("Period", list(DAYS), PERIOD, label_visibility="collapsed", default="7 days")
    turns = base.conversations.all_turns(DAYS[period])
    if turns:
        cards(operation_figures(turns))
        charts(operation_periods(turns))
        turn_lists(base, turns)
    else:
        _nothing(period)


def _nothing(period: str) -> None:
    if period == "All":
        st.markdown(
            "This tab counts and times every question: refusals, latency and ratings. "
            "There are no questions yet."
        )
        st.page_link("chat.py", label="Ask something", icon=":material/forum:")
    else:
        st.markdown(f"No questions in the last {period}. Choose a longer period.")


def turn_lists(base: KnowledgeBase, turns: Sequence[TurnRow]) -> None:
    """Two lists side by side."""
    slow, bad = st.columns(2, gap="medium")
    with slow:
        st.subheader("Slowest")
        for turn in slowest_turns(turns, LISTED):
            _row(base, turn, "slow", f":blue-badge[{seconds(total_seconds(turn))}]")
    with bad:
        st.subheader("Worst")
        worst = worst_turns(turns, LISTED)
        if not worst:
            st.caption("No thumb down, no fault, no refusal.")
        for turn, wrong in worst:
            _row(base, turn, "bad", f":orange-badge[{_FAULTS[wrong]}]")


def _row(base: KnowledgeBase, turn: TurnRow, where: str, badge: str) -> None:
    with st.container(border=True, gap="xsmall"):
        when = f":gray[{ago(turn.asked)}]"
        if turn.question is None:
            st.markdown(f"{badge} *asked by another visitor* {when}")
            return
        st.markdown(f"{badge} {plain(clipped(turn.question, LONGEST))} {when}")
        st.caption(_metrics_line(turn))
        if st.button(
            "Inspect this",
            key=f"operations_{where}_{turn.id}",
            icon=":material/troubleshoot:",
            type="tertiary",
            help="Why these passages, and not others?",
        ):
            stored = base.conversations.turns(turn.conversation_id, turn.id)
            if stored:
                turn_view.inspect(base, stored[-1])


def _metrics_line(turn: TurnRow) -> str:
    """The metrics of a turn in one line, without those that are unknown."""
    metrics = turn.metrics
    if not metrics:
        return "From before turns were timed."
    parts = [
        f"search {seconds(metrics.get('retrieval_seconds'))}",
        f"first words {seconds(metrics.get('first_token_seconds'))}",
        f"{metrics.get('retrieved', 0)} found",
        f"{metrics.get('cited', 0)} cited",
    ]
    if wrong := unsupported_sentences(turn):
        parts.append(counted(wrong, "unsupported sentence"))
    share = metrics.get("budget_share")
    if share is not None:
        parts.append(f"{percent(share)} of the budget")
    if metrics.get("from_cache"):
        parts.append("search known before")
    if metrics.get("completion_tokens"):
        parts.append(f"{metrics['prompt_tokens']:,} + {metrics['completion_tokens']:,} tokens")
        if unread := metrics.get("unread_tokens"):
            parts.append(f"{unread:,} or more of the prompt not read")
        cost = cost_of(turn)
        parts.append(money(cost.amount, cost.currency) if cost else "cost unknown")
    return " · ".join(parts)
