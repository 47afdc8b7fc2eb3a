"""The Operations page: usage, refusals, times and ratings of a knowledge base."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.operations.cards import cards
from pages.components.operations.charts import charts
from pages.components.operations.turns import turn_lists
from pages.components.shell.buttons import switch
from pages.components.shell.guard import guard
from pages.components.shell.session import base as chosen_base
from rag import operation_figures, operation_periods

PERIOD = "period"  # the URL's parameter
DAYS: Mapping[str, float | None] = {"24 hours": 1, "7 days": 7, "30 days": 30, "All": None}


def main() -> None:
    """The page."""
    base = chosen_base()
    st.title("Operations")
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
            "Every question is counted and timed here: how often the answer was a refusal, how "
            "long it took, and what readers thought of it. Nobody has asked yet."
        )
        st.page_link("chat.py", label="Ask something", icon=":material/forum:")
    else:
        st.markdown(f"Nobody asked in the last {period}. Choose a longer period.")


with guard():
    main()
