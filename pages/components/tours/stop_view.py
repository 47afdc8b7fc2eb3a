"""One stop of a tour, drawn for a reader."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from pages.components.shell.text import lines, marked, plain
from rag import TourQuote, TourStop

_ICONS: Mapping[str, str] = {
    "answer": "forum",
    "page": "description",
    "why": "troubleshoot",
    "metrics": "monitoring",
    "comparison": "balance",
}


def stop_view(stop: TourStop) -> None:
    """Draw a stop: title, the owner's words, text, quotes, values and points."""
    st.subheader(f":material/{_ICONS[stop.kind]}: {plain(stop.title)}")
    if stop.note:
        st.info(lines(stop.note), icon=":material/campaign:")
    if stop.kind == "answer":
        _points(stop)
    if stop.text:
        st.markdown(lines(stop.text))
    _values(stop)
    for quote in stop.quotes:
        _quote(quote)
    if stop.kind != "answer":
        _points(stop)


def _values(stop: TourStop) -> None:
    if stop.values:
        with st.grid(len(stop.values), min_column_width=220):
            for row in stop.values:
                with st.container(border=True, height="stretch", gap="xsmall"):
                    st.metric(plain(row.label), row.value)
                    st.caption(plain(row.detail))


def _quote(quote: TourQuote) -> None:
    with st.container(border=True, gap="xsmall"):
        st.caption(plain(quote.source))
        text = quote.before + quote.text + quote.after
        start = len(quote.before)
        spans = [(start, start + len(quote.text))] if quote.before or quote.after else []
        st.markdown(marked(text, spans))


def _points(stop: TourStop) -> None:
    if stop.points:
        st.markdown("\n".join(f"- {plain(point)}" for point in stop.points))
