"""The list of what agents did by the tools of MCP."""

from __future__ import annotations

import streamlit as st

from rag import AgentCall, KnowledgeBase


def agents(base: KnowledgeBase) -> None:
    """A folded table, newest first; nothing where no agent did anything."""
    calls = base.runs.agent_calls()
    if not calls:
        return
    with st.expander("What agents did", icon=":material/smart_toy:"):
        st.caption(
            "Agents see the tuning questions of a set. The held-out questions decide whether a "
            "change is a gain. Labels and questions of agents are in sets of their own."
        )
        st.dataframe(
            [_row(call) for call in calls],
            hide_index=True,
            column_config={
                "At": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
                "Seconds": st.column_config.NumberColumn(format="%.1f"),
            },
            alt="Calls of tools by agents: who, what, why and with which outcome, newest first.",
        )


def _row(call: AgentCall) -> dict[str, object]:
    return {
        "At": call.at,
        "Who": call.agent,
        "What": call.tool,
        "Why": call.reason,
        "Outcome": call.outcome,
        "With": ", ".join(f"{name}: {value}" for name, value in call.arguments.items()),
        "Seconds": call.seconds,
    }
