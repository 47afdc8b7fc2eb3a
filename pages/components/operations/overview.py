"""Usage, refusals, times and ratings of a knowledge base, over a period."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.operations.cards import cards
from pages.components.operations.charts import charts
from pages.components.operations.turns import turn_lists
from pages.components.shell.buttons import switch
from rag import KnowledgeBase, operation_figures, operation_periods

PERIOD = "period"  # the URL's parameter
DAYS: Mapping[str, float | None] = {"24 hours": 1, "7 days": 7, "30 days": 30, "All": None}


def operations(base: KnowledgeBase) -> None:
    """Draw totals, charts over time, and the turns that need a look."""
    period = switch("Period", list(DAYS), PERIOD, label_visibility="collapsed", default="7 days")
    turns = base.operations.turns(DAYS[period])
    if not turns:
        _nothing(period)
        return
    cards(operation_figures(turns))
    charts(operation_periods(turns))
    turn_lists(base, turns)


def _nothing(period: str) -> None:
    if period == "All":
        st.markdown(
            "This tab counts and times every question: refusals, latency and ratings. Nobody has "
            "asked yet."
        )
        st.page_link("chat.py", label="Ask something", icon=":material/forum:")
    else:
        st.markdown(f"No questions in the last {period}. Choose a longer period.")
