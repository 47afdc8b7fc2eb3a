"""The trial log of a question set."""

from __future__ import annotations

import streamlit as st

from rag import KnowledgeBase, Trial, metric_title


def ledger(base: KnowledgeBase, set_name: str) -> None:
    """A folded table; nothing where nothing was tried."""
    looks = base.questions.tried(set_name)
    if not looks:
        return
    with st.expander("Recipes tried on this set", icon=":material/history:"):
        st.caption(
            "If you try often enough, chance finds a winner among equal recipes. Therefore, "
            "later searches and comparisons on this set need smaller p-values. Repeating the "
            "same trial counts once."
        )
        st.dataframe(
            [_row(look) for look in looks],
            hide_index=True,
            column_config={
                "First": st.column_config.DatetimeColumn(format="D MMM YYYY, HH:mm"),
                "Recipes": st.column_config.NumberColumn(
                    help="Different recipes whose metrics were shown. Recipes with the same "
                    "metrics count once."
                ),
            },
            alt="Searches, comparisons, reports and gates on this question set, the first first.",
        )


def _row(look: Trial) -> dict[str, object]:
    held_out = look.split_seed is not None
    return {
        "First": look.first,
        "What": look.kind.capitalize(),
        "Metric": metric_title(look.metric),
        "Recipes": look.alternatives,
        "Questions": f"held out by split {look.split_seed}" if held_out else "all",
        "Recipe": ", ".join(look.recipes),
    }
