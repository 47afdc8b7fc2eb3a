"""Cards with the totals of the turns of a period."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from pages.components.shell.wording import capitalised
from rag import Cost, OperationFigures, counted, money, told_cost


def cards(found: OperationFigures) -> None:
    """Eight figures."""
    rated = found.thumbs_up + found.thumbs_down
    shown = (
        ("Questions", f"{found.questions:,}", "Of all visitors, failed ones too."),
        ("Refused", _share(found.refused_share), "Share of the questions that were refused."),
        ("Failed", f"{found.failed:,}", "Answers that a fault kept from beginning."),
        (
            "Time, median",
            seconds(found.p50),
            "From the question to the end of its answer: half took no longer.",
        ),
        ("Time, 95%", seconds(found.p95), "95 of 100 answers took no longer."),
        (
            "Tokens",
            f"{found.tokens:,}" if found.tokens else "–",
            "Of prompts and answers, as far as providers report them; quotes need none.",
        ),
        _cost(found.costs),
        (
            "Thumbs up",
            f"{found.thumbs_up} of {rated}" if rated else "–",
            "Of the answers that somebody rated.",
        ),
    )
    with st.grid(4, min_column_width=150):
        for label, value, said in shown:
            st.metric(label, value, help=said, border=True, height="stretch")


def _cost(costs: Sequence[Cost | None]) -> tuple[str, str, str]:
    """The sum, where it is of one currency; a card has no room for more."""
    known = [each for each in costs if each is not None]
    currencies = {each.currency for each in known}
    said = "By the table of prices at the time."
    if len(currencies) != 1:
        return "Cost", "–", f"{said} {capitalised(told_cost(costs))}." if costs else said
    missing = len(costs) - len(known)
    left_out = f" Not known of {counted(missing, 'answer')}, left out here." if missing else ""
    total = money(sum(each.amount for each in known), "").strip()
    return f"Cost, {currencies.pop()}", total, said + left_out


def seconds(value: float | None) -> str:
    """``240 ms`` or ``3.2 s``; a dash where nothing was timed."""
    if value is None:
        return "–"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
