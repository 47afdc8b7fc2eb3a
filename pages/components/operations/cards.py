"""What the turns of a period come to, as cards."""

from __future__ import annotations

import streamlit as st

from rag import OperationFigures


def cards(found: OperationFigures) -> None:
    """Seven figures."""
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
        (
            "Thumbs up",
            f"{found.thumbs_up} of {rated}" if rated else "–",
            "Of the answers that somebody rated.",
        ),
    )
    with st.grid(len(shown), min_column_width=120):
        for label, value, said in shown:
            st.metric(label, value, help=said, border=True, height="stretch")


def seconds(value: float | None) -> str:
    """``240 ms`` or ``3.2 s``; a dash where nothing was timed."""
    if value is None:
        return "–"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
