"""Cards with the totals of the turns of a period."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.wording import capitalised, seconds
from rag import Cost, OperationFigures, cost_text, counted, money, percent


def cards(figures: OperationFigures) -> None:
    """Eight figures."""
    rated = figures.thumbs_up + figures.thumbs_down
    metrics = (
        ("Questions", f"{figures.questions:,}", "Of all users, including failed ones."),
        (
            "Doubtful, refused",
            f"{_share(figures.doubtful_share)}, {_share(figures.refused_share)}",
            "Shares of the questions whose answer was doubtful, and that were refused.",
        ),
        ("Failed", f"{figures.failed:,}", "Questions without an answer because of an error."),
        (
            "Time, median",
            seconds(figures.p50),
            "The median time from the question to the end of its answer.",
        ),
        ("Time, 95%", seconds(figures.p95), "95% of the answers took no longer."),
        (
            "Tokens",
            f"{figures.tokens:,}" if figures.tokens else "–",
            "Of prompts and answers, as far as providers report them; quotes need none.",
        ),
        _cost(figures.costs),
        (
            "Thumbs up",
            f"{figures.thumbs_up} of {rated}" if rated else "–",
            "Of the answers that somebody rated.",
        ),
    )
    with st.grid(4, min_column_width=150):
        for label, value, explanation in metrics:
            st.metric(label, value, help=explanation, border=True, height="stretch")


def _cost(costs: Sequence[Cost | None]) -> tuple[str, str, str]:
    """The sum, where it is of one currency; a card has no room for more."""
    priced = [cost for cost in costs if cost is not None]
    currencies = {cost.currency for cost in priced}
    source = "By the table of prices at the time."
    if len(currencies) != 1:
        return "Cost", "–", f"{source} {capitalised(cost_text(costs))}." if costs else source
    missing = len(costs) - len(priced)
    left_out = f" Not known of {counted(missing, 'answer')}, left out here." if missing else ""
    total = money(sum(cost.amount for cost in priced), "").strip()
    return f"Cost, {currencies.pop()}", total, source + left_out


def _share(value: float | None) -> str:
    return "–" if value is None else percent(value)
