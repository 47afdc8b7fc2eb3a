"""The decisions by few labels of a question set, open and finished."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.runs.deciding import entries
from pages.components.shell.permission import refusal
from rag import DecisionEntry, KnowledgeBase


def decisions_table(base: KnowledgeBase, set_name: str, names: Mapping[str, str]) -> None:
    """Draw a folded table; nothing without a decision. ``names`` are those of the runs."""
    if refusal(base, "runs.decisions"):
        return
    mine = [entry for entry in entries(base, set_name) if {entry.run, entry.other} <= names.keys()]
    if not mine:
        return
    with st.expander("Decisions by few labels", icon=":material/balance:"):
        st.dataframe(
            [row(entry, names) for entry in mine],
            hide_index=True,
            column_config={
                "Started": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
                "Verdict": st.column_config.TextColumn(width="large"),
            },
            alt="Open and finished decisions between runs of this question set, newest first.",
        )
        st.caption("To go on with one, tick its two runs and open *Which is better?*.")


def row(entry: DecisionEntry, names: Mapping[str, str]) -> dict[str, object]:
    """A decision as a row of the table."""
    run, other = names[entry.run], names[entry.other]
    decision = entry.decision
    return {
        "Started": entry.started,
        "State": "finished" if entry.finished else "open" if decision else "lost",
        "Run": run,
        "Against": other,
        "Verdict": decision.headline(run, other) if decision else entry.obstacle,
    }
